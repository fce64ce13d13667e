"""Documents with their versions and numbers of leaves in packed columns. One is found without reading the others."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import NamedTuple

from leafspan.flows import NDArray, np

_SURROGATES = "surrogatepass"  # users' ids may contain half of a surrogate pair


class KeyedVersions(NamedTuple):
    """The versions of documents, sorted by the keys of the documents' ids."""

    keys: NDArray[np.uint64]
    versions: NDArray[np.bytes_]  # in UTF-8
    leaves: NDArray[np.uint32]
    places: NDArray[np.uint32]  # each document's number in its table


class DocumentColumns(NamedTuple):
    keys: memoryview  # sorted
    order: memoryview  # the number of each key's document
    id_ends: memoryview
    leaves: memoryview
    versions: memoryview
    ids: memoryview


class DocumentTable:
    """Documents, numbered from 0. The columns stay packed until a document is asked for.

    A document's key is 64 bits of its id's hash. A search in the sorted keys finds it; the ids tell
    documents with equal keys apart.
    """

    __slots__ = ("_id_ends", "_ids", "_keys", "_leaves", "_order", "_versions", "_width", "columns")

    def __init__(self, columns: DocumentColumns) -> None:
        self.columns = columns
        self._keys, self._order, self._id_ends, self._leaves, self._versions, self._ids = columns
        self._width = len(self._versions) // len(self._keys) if len(self._keys) else 0

    @classmethod
    def of(cls, documents: Sequence[tuple[str, str | None, int]]) -> DocumentTable:
        """Make a table of (id, version, number of leaves) tuples."""
        ids = [encoded(id_) for id_, _, _ in documents]
        versions = [encoded(version or "") for _, version, _ in documents]
        width = max(map(len, versions), default=0) or 1
        keyed = sorted(zip(map(_key, ids), range(len(ids)), strict=True))
        columns = (
            array("Q", [key for key, _ in keyed]),
            array("I", [number for _, number in keyed]),
            array("Q", accumulate(map(len, ids))),
            array("I", [leaves for _, _, leaves in documents]),
            b"".join(version.ljust(width, b"\0") for version in versions),
            b"".join(ids),
        )
        return cls(DocumentColumns(*(memoryview(column) for column in columns)))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[tuple[str, str | None, int]]:
        return map(self.document, range(len(self)))

    def find(self, document_id: str) -> int | None:
        """The number of the document with this id, or None if the table does not have it."""
        id_ = encoded(document_id)
        key, keys = _key(id_), self._keys
        at = bisect_left(keys, key)
        while at < len(keys) and keys[at] == key:
            number: int = self._order[at]
            if self._id(number) == id_:
                return number
            at += 1
        return None

    def _id(self, number: int) -> memoryview:
        return self._ids[self._id_ends[number - 1] if number else 0 : self._id_ends[number]]

    def id(self, number: int) -> str:
        return str(self._id(number), "utf-8", _SURROGATES)

    def version(self, number: int) -> str | None:
        start = number * self._width
        return str(bytes(self._versions[start : start + self._width]).rstrip(b"\0"), "utf-8", _SURROGATES) or None

    def leaves(self, number: int) -> int:
        return self._leaves[number]

    def document(self, number: int) -> tuple[str, str | None, int]:
        return self.id(number), self.version(number), self.leaves(number)

    @property
    def sizes(self) -> NDArray[np.uint32]:
        return np.frombuffer(self._leaves, dtype=np.uint32)

    def by_key(self) -> KeyedVersions:
        order = np.frombuffer(self._order, dtype=np.uint32)
        versions = np.frombuffer(self._versions, dtype=f"S{self._width or 1}")
        return KeyedVersions(np.frombuffer(self._keys, dtype=np.uint64), versions[order], self.sizes[order], order)


def document_key(document_id: str) -> int:
    return _key(encoded(document_id))


def encoded(document_id: str) -> bytes:
    return document_id.encode("utf-8", _SURROGATES)


def decoded(document_id: bytes) -> str:
    return str(document_id, "utf-8", _SURROGATES)


def _key(encoded: bytes) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")


class Numbering:
    """The current documents of a catalogue, numbered from 0, found by 64 bits of a hash of their stored ids."""

    def __init__(self, ids: Sequence[str], leaves: Sequence[int]) -> None:
        keys = np.array([document_key(id_) for id_ in ids], np.uint64)
        self._places = np.argsort(keys, kind="stable").astype(np.int32)
        self._keys = keys[self._places]
        self.leaves = np.array(leaves, np.int64)  # each document's number of leaves
        # Whether no two documents have the same 64 bits.
        self.is_certain = not bool((self._keys[1:] == self._keys[:-1]).any())

    def number_of(self, stored_id: str) -> int | None:
        """The number of a document, or None if the numbering does not have it."""
        key = np.uint64(document_key(stored_id))
        at = int(np.searchsorted(self._keys, key))
        return int(self._places[at]) if at < len(self._keys) and self._keys[at] == key else None

    def places_of(self, documents: DocumentTable) -> NDArray[np.int32]:
        """The number of each document of a table, or -1 if the numbering does not have it."""
        numbers = np.full(len(documents), -1, np.int32)
        if len(self._keys):
            others = documents.by_key()
            at = np.minimum(np.searchsorted(self._keys, others.keys), len(self._keys) - 1)
            numbers[others.places] = np.where(self._keys[at] == others.keys, self._places[at], -1)
        return numbers
