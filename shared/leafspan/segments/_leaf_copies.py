"""The recipes for segments with the vectors, and with the texts, places and metadata of all leaves, and reading them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from leafspan.checks import STRUCTURE_KEY
from leafspan.embedding import Codes, normalize, rotated, signs_of
from leafspan.engines import Field, Record
from leafspan.flows import NDArray, np
from leafspan.segments._mirror import Compare
from leafspan.segments._segment import PiecedArray
from leafspan.segments._snapshot import MaskedArrays, MirrorSnapshot
from leafspan.segments._stored_arrays import in_parts, with_rows
from leafspan.store import Copied, DocumentToWrite, bytes_are_as_written
from leafspan.values import LeafId

_FEWEST_SIGNED, _SHORTEST_SIGNED = 4_096, 1_024  # vectors, and their numbers, from which comparing signs first pays
_FINER = 65_534  # a remainder's 1 is this part of a code's 1
_ROUNDING = 1e-5  # two vectors are the same up to this difference: different code may have scaled them to length 1
_ROWS = 1_000  # to decode at a time
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_from_json = json.JSONDecoder().raw_decode


class VectorCopy:
    """The recipe for segments with the leaves' vectors, scaled to length 1, in 24 bits a number: a code, and a remainder.

    The largest number of a vector is as exact as in 32 bits, and no number is off by more. So cosines differ by some 10^-8.
    """

    name = "vectors"
    task = "Copying vectors"
    content = "vectors"
    needs_vectors = True

    def of(self, documents: Sequence[DocumentToWrite]) -> dict[str, NDArray[Any]]:
        vectors = normalize(np.concatenate([np.asarray(each.vectors, np.float32) for each in documents]))
        numbers, scales, _ = Codes.of(vectors)
        remainders = np.rint((vectors / np.where(scales > 0, scales, 1)[:, None] - numbers) * _FINER).astype(np.int16)
        errors = (np.linalg.norm(remainders, axis=1) * scales / _FINER).astype(np.float32)
        arrays: dict[str, Any] = {"codes": numbers, "remainders": remainders, "scales": scales, "errors": errors}
        return {**arrays, **_signs([(arrays, None)], *vectors.shape)}

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any] | PiecedArray]:
        names = ("codes", "remainders", "scales", "errors")
        merged = {name: PiecedArray([(arrays[name], mask) for arrays, mask in parts]) for name in names}
        return {**merged, **_signs(parts, *merged["codes"].shape)}

    def comparing(self, arrays: Mapping[str, NDArray[Any]]) -> Compare:
        def differing(first: int, document: DocumentToWrite) -> list[int]:
            rows = slice(first, first + len(document.texts))
            kept = vectors_at(arrays, rows)
            same = are_same(kept, document.vectors)
            errors = np.linalg.norm(arrays["remainders"][rows], axis=1) * arrays["scales"][rows] / _FINER
            same &= np.isclose(arrays["errors"][rows], errors, rtol=_ROUNDING, atol=_ROUNDING**2)
            if "sign_bits" in arrays:
                turned = rotated(kept) - arrays["sign_mean"]
                other = np.unpackbits(arrays["sign_bits"][rows], axis=1) != (turned > 0)
                same &= (np.abs(turned) * other).sum(axis=1) < _ROUNDING  # a number close to 0 may have another sign
            return [int(ordinal) for ordinal in np.flatnonzero(~same)]

        return differing


def vectors_in(snapshot: MirrorSnapshot, leaves: Iterable[LeafId]) -> Copied:
    """Records with the vectors of leaves, by stored id, for leaves whose documents are current in the snapshot."""
    copied = Copied({}, set())
    for leaf in leaves:
        document_id, version, ordinal = leaf
        place = snapshot.place_of(document_id, version)
        if place is not None and ordinal < place[2]:
            arrays, first, _ = place
            (vector,) = vectors_at(arrays, slice(first + ordinal, first + ordinal + 1))
            copied.records[leaf] = Record(str(leaf), vector=vector)
    return copied


def vectors_at(arrays: Mapping[str, NDArray[Any]], rows: slice | NDArray[np.intp]) -> NDArray[np.float32]:
    numbers, remainders = in_parts(arrays, "codes")[rows], in_parts(arrays, "remainders")[rows]
    return (numbers + remainders / np.float32(_FINER)) * arrays["scales"][rows][:, None]  # type: ignore[no-any-return]


def _signs(parts: Sequence[MaskedArrays], leaves: int, length: int) -> dict[str, NDArray[Any]]:
    """The signs of the vectors that the masks select, if comparing them first pays."""

    def pieces() -> Iterator[NDArray[np.float32]]:
        for arrays, mask in parts:
            rows = np.arange(len(arrays["scales"]))[slice(None) if mask is None else mask]
            yield from (vectors_at(arrays, rows[first : first + _ROWS]) for first in range(0, len(rows), _ROWS))

    return signs_of(pieces) if leaves >= _FEWEST_SIGNED and length >= _SHORTEST_SIGNED else {}


def are_same(vectors: NDArray[np.float32], others: Any) -> NDArray[np.bool_]:
    """Whether each of these vectors of length 1 has the same direction as the vector in the same row of ``others``."""
    other = normalize(np.asarray(others, dtype=np.float32))
    if other.shape != vectors.shape:
        return np.zeros(len(vectors), bool)
    return np.linalg.norm(vectors - other, axis=1) <= _ROUNDING  # type: ignore[no-any-return]


class RecordCopy:
    """The recipe for segments with each leaf's stored data except its vector.

    Texts and places are joined in UTF-8, and other arrays have their ends. Metadata is JSON. Leaves of a document mostly
    have the same metadata, so each value is stored once, and a leaf has the number of its value.
    """

    name = "records"
    task = "Copying texts"
    content = "texts, places or metadata"
    needs_vectors = False

    def of(self, documents: Sequence[DocumentToWrite]) -> dict[str, NDArray[Any]]:
        return _arrays_of(pair for each in documents for pair in zip(each.texts, each.metadatas, strict=True))

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any]]:
        merged: dict[str, NDArray[Any]] = {}
        for name in ("texts", "places"):
            kept = [_kept(arrays[name], arrays[f"{name}_ends"], mask) for arrays, mask in parts]
            merged[name] = np.concatenate([content for content, _ in kept])
            merged[f"{name}_ends"] = np.cumsum(np.concatenate([lengths for _, lengths in kept]), dtype=np.int64)
        numbers, contents, ends, before = [], [], [], 0
        for arrays, mask in parts:
            of_leaves = arrays["metadata_of"] if mask is None else arrays["metadata_of"][mask]
            used, renumbered = np.unique(of_leaves, return_inverse=True)
            marked = np.zeros(len(arrays["metadata_ends"]), bool)
            marked[used] = True
            content, lengths = _kept(arrays["metadata"], arrays["metadata_ends"], marked)
            numbers.append((renumbered + before).astype(np.int32))
            contents.append(content)
            ends.append(lengths)
            before += len(used)
        merged["metadata_of"] = np.concatenate(numbers)
        merged["metadata"] = np.concatenate(contents)
        merged["metadata_ends"] = np.cumsum(np.concatenate(ends), dtype=np.int64)
        return merged

    def comparing(self, arrays: Mapping[str, NDArray[Any]]) -> Compare:
        def differing(first: int, document: DocumentToWrite) -> list[int]:
            kept, stored = _Records(arrays), enumerate(zip(document.texts, document.metadatas, strict=True))
            return [number for number, each in stored if not _is_same(kept.record("", first + number, number), *each)]

        return differing


def records_in(snapshot: MirrorSnapshot, leaves: Iterable[LeafId], fields: Collection[Field]) -> Copied:
    """The records of leaves, by stored id, with their texts and, if asked for, their metadata.

    Leaves are left out if their document is not current in the snapshot, or if their checksum differs from the checksum in
    the document's row.
    """
    copied = Copied({}, set())
    places: dict[tuple[str, str], tuple[_Records, int, int, str] | None] = {}
    segments: dict[int, _Records] = {}
    with_metadata = "metadata" in fields

    def look_up(document_id: str, version: str) -> tuple[_Records, int, int, str] | None:
        """The records of the document's segment, its first row there, its number of rows, and its checksums."""
        if (place := snapshot.place_of(document_id, version)) is None:
            return None
        arrays, first, count = place
        if (records := segments.get(id(arrays))) is None:
            records = segments[id(arrays)] = _Records(arrays)
        return records, first, count, snapshot.catalogue.rows[document_id].checksums

    for leaf in leaves:
        document_id, version, ordinal = leaf
        if (document_id, version) not in places:
            places[document_id, version] = look_up(document_id, version)
        place = places[document_id, version]
        if place is None or not 0 <= ordinal < place[2]:
            continue
        records, first, _, checksums = place
        kept = records.record(str(leaf), first + ordinal, ordinal, checksums, with_metadata=with_metadata)
        if kept is not None:
            copied.records[leaf], is_checked = kept
            if is_checked:
                copied.checked.add(leaf)
    return copied


class _Records:
    """The records in the arrays of a segment. Texts, places and metadata are byte strings, joined in an array each."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._texts, self._places, self._metadata = (
            with_rows(arrays, name, 0, 0).data for name in ("texts", "places", "metadata")
        )
        self._text_end, self._place_end = arrays["texts_ends"].item, arrays["places_ends"].item
        self._metadata_end, self._metadata_of = arrays["metadata_ends"].item, arrays["metadata_of"].item
        self._decoded: dict[int, dict[str, Any]] = {}  # metadata that leaves share, by its number

    def record(
        self, id_: str, row: int, ordinal: int, checksums: str = "", *, with_metadata: bool = True
    ) -> tuple[Record, bool] | None:
        """The record of the leaf in this row, and whether its checksum was compared; or None if it is damaged."""
        of_text = slice(self._text_end(row - 1) if row else 0, self._text_end(row))
        of_place = slice(self._place_end(row - 1) if row else 0, self._place_end(row))
        text = self._texts[of_text].tobytes()
        place = self._places[of_place].tobytes() if with_metadata else None
        as_written = bytes_are_as_written(checksums, ordinal, text, place) if checksums else None
        # If a leaf's own checksum matches, the blocks that contain it need no check.
        if not as_written:
            with_rows(self._arrays, "texts", of_text.start, of_text.stop)
            if with_metadata:
                with_rows(self._arrays, "places", of_place.start, of_place.stop)
        if as_written is False:
            return None
        if place is None:
            return Record(id_, text.decode()), bool(as_written)
        number = self._metadata_of(row)
        if (metadata := self._decoded.get(number)) is None:
            metadata = self._decode(number)
        return Record(id_, text.decode(), {**metadata, STRUCTURE_KEY: place.decode()}), bool(as_written)

    def _decode(self, number: int) -> dict[str, Any]:
        first, end = self._metadata_end(number - 1) if number else 0, self._metadata_end(number)
        with_rows(self._arrays, "metadata", first, end)
        metadata: dict[str, Any] = dict(sorted(_from_json(self._metadata[first:end].tobytes().decode())[0].items()))
        if not any(isinstance(value, list | dict) for value in metadata.values()):  # leaves must not share these
            self._decoded[number] = metadata
        return metadata


def _is_same(kept_record: tuple[Record, bool] | None, text: str, metadata: Mapping[str, Any]) -> bool:
    """Whether a record has this text and metadata. They are compared as JSON, too, since NaN is not equal to itself."""
    if kept_record is None or kept_record[0].text != text:
        return False
    kept = kept_record[0].metadata
    return kept == metadata or json.dumps(kept, sort_keys=True) == json.dumps(dict(metadata), sort_keys=True)


def _arrays_of(stored: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, NDArray[Any]]:
    """Make the arrays of a segment from each leaf's text and metadata."""
    texts: list[bytes] = []
    places: list[bytes] = []
    numbers: list[int] = []
    number_of: dict[bytes, int] = {}
    for text, metadata in stored:
        texts.append(text.encode())
        places.append(str(metadata[STRUCTURE_KEY]).encode())
        own = {key: value for key, value in metadata.items() if key != STRUCTURE_KEY}
        numbers.append(number_of.setdefault(_as_json(own).encode(), len(number_of)))
    return {
        "texts": _joined(texts),
        "texts_ends": _ends(texts),
        "places": _joined(places),
        "places_ends": _ends(places),
        "metadata": _joined(number_of),
        "metadata_ends": _ends(number_of),
        "metadata_of": np.array(numbers, dtype=np.int32),
    }


def _joined(pieces: Iterable[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(pieces), dtype=np.uint8)


def _ends(pieces: Iterable[bytes]) -> NDArray[np.int64]:
    return np.fromiter(accumulate(map(len, pieces)), dtype=np.int64)


def _kept(
    content: NDArray[np.uint8], ends: NDArray[np.int64], mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The byte strings that a mask selects, joined, and their lengths."""
    lengths = np.diff(ends, prepend=0)
    if mask is None:
        return content, lengths
    return content[np.repeat(mask, lengths)], lengths[mask]
