"""The records of a file of catalogues, as they are stored.

A record has a head of fixed length, the name of an index, and a body. That of an index is a line of JSON, and then a line
for each row: the id of its document, a tab, and the row as the manifest has it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

from leafspan.store._catalogue import Catalogue
from leafspan.store._manifest import Row, packed_row

NAMES, WHOLE, CHANGE = b"n", b"w", b"c"
"""Kinds of records: the names of all indexes, an index whole, and what has changed of one."""

_MAGIC = b"lsc1"
_HEAD = struct.Struct("<4sIcHQQQI")  # magic, checksum of all that follows with the name, kind, length of the name; see Head


class KnownIndex(NamedTuple):
    """What is known of an index.

    Attributes:
        id: Id of the collection of the leaves.
        settings: What the index was made with.
        embedder: The embedder that it was made with, as it is stored; None before the first embedding.
        catalogue: Its documents.
    """

    id: str
    settings: Mapping[str, Any]
    embedder: str | None
    catalogue: Catalogue

    @property
    def has_damage(self) -> bool:
        """Whether a row is damaged."""
        return self.has_damage_in(self.catalogue.rows)

    def has_damage_in(self, documents: Iterable[str]) -> bool:
        """Whether the row of one of these documents is damaged. They need not be there."""
        rows = self.catalogue.rows
        return any(rows[id_].damage is not None for id_ in documents if id_ in rows)

    def changed_by(self, body: bytes) -> KnownIndex | None:
        """The same after a change, given by the body of its record; None if a row in that is damaged."""
        head, rows = _unpack(body)
        if any(row.damage is not None for row in rows.values()):
            return None
        known = self._replace(embedder=head.get("embedder", self.embedder))
        if not rows and not head["gone"]:
            return known  # with the same catalogue, which has caches
        rows = {**self.catalogue.rows, **rows}
        for id_ in head["gone"]:
            rows.pop(id_, None)
        return known._replace(catalogue=Catalogue(rows))


class Head(NamedTuple):
    """The head of a record.

    Attributes:
        kind: Its kind.
        name: Name of the index.
        before: The count of changes that it goes on from.
        after: The count of changes that it belongs to.
        length: Length of its body in bytes.
        checksum: CRC-32 of its body.
    """

    kind: bytes
    name: str
    before: int
    after: int
    length: int
    checksum: int

    @classmethod
    def read(cls, file: BinaryIO) -> Head | None:
        """The head that comes next in a file; None if there is no whole one."""
        start = file.read(_HEAD.size)
        if len(start) < _HEAD.size:
            return None
        magic, checksum, kind, name_length, before, after, length, body = _HEAD.unpack(start)
        name = file.read(name_length)
        if magic != _MAGIC or len(name) < name_length or crc32(start[8:] + name) != checksum:
            return None
        return cls(kind, name.decode(), before, after, length, body)


class Record(NamedTuple):
    """A record to write: see ``Head``."""

    kind: bytes
    name: str
    before: int
    after: int
    body: bytes

    @classmethod
    def of_names(cls, names: Iterable[str], count: int) -> Record:
        """One that begins a file."""
        return cls(NAMES, "", count, count, json.dumps(sorted(set(names))).encode())

    @classmethod
    def whole(cls, name: str, count: int, known: KnownIndex) -> Record:
        """One of an index as it is at a count of changes."""
        head = {"id": known.id, "settings": dict(known.settings), "embedder": known.embedder}
        return cls(WHOLE, name, count, count, _pack(head, known.catalogue.rows.values()))

    @classmethod
    def change(
        cls, name: str, counts: tuple[int, int], known: KnownIndex, old: KnownIndex, changed: Iterable[str]
    ) -> Record:
        """One of a change.

        Args:
            name: Name of the index.
            counts: The counts of changes before and after it.
            known: The index after it.
            old: The index before it.
            changed: Ids of the documents whose rows have changed, or are gone.
        """
        rows = known.catalogue.rows
        changed = list(changed)
        head: dict[str, Any] = {"gone": [id_ for id_ in changed if id_ not in rows]}
        if known.embedder != old.embedder:
            head["embedder"] = known.embedder
        return cls(CHANGE, name, *counts, _pack(head, [rows[id_] for id_ in changed if id_ in rows]))

    def pack(self) -> bytes:
        """The bytes to write."""
        name = self.name.encode()
        numbers = (self.before, self.after, len(self.body), crc32(self.body))
        rest = _HEAD.pack(_MAGIC, 0, self.kind, len(name), *numbers)[8:] + name
        return _MAGIC + crc32(rest).to_bytes(4, "little") + rest + self.body


def whole_index(body: bytes) -> KnownIndex | None:
    """An index, from the body of a record that has it whole; None if a row in that is damaged."""
    head, rows = _unpack(body)
    known = KnownIndex(head["id"], head["settings"], head["embedder"], Catalogue(rows))
    return None if known.has_damage else known


def _pack(head: Mapping[str, Any], rows: Iterable[Row]) -> bytes:
    return "\n".join([json.dumps(head), *(f"{json.dumps(row.document_id)}\t{row.packed}" for row in rows)]).encode()


def _unpack(body: bytes) -> tuple[dict[str, Any], dict[str, Row]]:
    head, *lines = body.split(b"\n")
    rows = {}
    for line in lines:
        id_, _, packed = line.partition(b"\t")
        row = Row.unpack(json.loads(id_), packed_row(packed.decode()))
        rows[row.document_id] = row
    return json.loads(head), rows
