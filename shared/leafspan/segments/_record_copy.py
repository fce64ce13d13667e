"""The recipe for segments with all texts, places and metadata, from which queries read leaves."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines import Field, Record, StaleRead
from leafspan.flows import Call, Flow
from leafspan.segments._comparing import Compare
from leafspan.segments._snapshot import MirrorSnapshot
from leafspan.segments._stored_arrays import with_rows
from leafspan.store import Copied, DocumentToWrite, Reader, Row, bytes_are_as_written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafspan.segments._snapshot import MaskedArrays

_BATCH = 1_000  # records to read at a time
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_from_json = json.JSONDecoder().raw_decode


class RecordCopy:
    """The recipe for segments with each leaf's stored data except its vector.

    Texts and places are joined in UTF-8, and other arrays have their ends. Metadata is JSON. Leaves of a document mostly
    have the same metadata, so each value is stored once, and a leaf has the number of its value.
    """

    name = "records"
    task = "Copying texts"
    content = "texts, places or metadata"

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        stored: list[tuple[str, Mapping[str, Any]]] = []
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            records = yield from reader.fetch_records(some)
            if len(records) < len(some):
                raise StaleRead
            stored += [records[id_] for id_ in some]
        return (yield Call(_arrays_of, (stored,)))  # type: ignore[no-any-return]

    def of(self, documents: Sequence[DocumentToWrite]) -> dict[str, NDArray[Any]]:
        return _arrays_of(pair for each in documents for pair in zip(each.texts, each.metadatas, strict=True))

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any]]:
        import numpy as np

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
            kept = _Records(arrays)
            stored = zip(document.texts, document.metadatas, strict=True)
            return [
                ordinal
                for ordinal, each in enumerate(stored)
                if not _is_same(kept.record("", first + ordinal, ordinal), *each)
            ]

        return differing


def records_in(snapshot: MirrorSnapshot, ids: Iterable[str], fields: Collection[Field]) -> Copied:
    """The records of leaves, by stored id, with their texts and, if asked for, their metadata.

    Leaves are left out if their document is not current in the snapshot, or if their checksum differs from the checksum in
    the document's row.
    """
    found = Copied({}, set())
    known: dict[str, tuple[_Records, int, int, str] | None] = {}
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

    for id_ in ids:
        document, _, ordinal = id_.rpartition("#")
        if document not in known:
            known[document] = look_up(*document.rpartition("#")[::2])
        place = known[document]
        if place is None or not ordinal.isdecimal() or (number := int(ordinal)) >= place[2]:
            continue
        records, first, _, checksums = place
        kept = records.record(id_, first + number, number, checksums, with_metadata=with_metadata)
        if kept is not None:
            found.records[id_], is_checked = kept
            if is_checked:
                found.checked.add(id_)
    return found


class _Records:
    """The records in the arrays of a segment."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._texts = _Pieces(arrays, "texts")
        self._places = _Pieces(arrays, "places")
        self._metadata = _Pieces(arrays, "metadata")
        self._metadata_of = arrays["metadata_of"].item

    def record(
        self, id_: str, row: int, ordinal: int, checksums: str = "", *, with_metadata: bool = True
    ) -> tuple[Record, bool] | None:
        """The record of the leaf in this row, and whether its checksum was compared; or None if it is damaged."""
        text = self._texts.at(row)
        place = self._places.at(row) if with_metadata else None
        as_written = bytes_are_as_written(checksums, ordinal, text, place) if checksums else None
        # If a leaf's own checksum matches, the blocks that contain it need no check.
        if not as_written:
            self._texts.check(row)
            if with_metadata:
                self._places.check(row)
        if as_written is False:
            return None
        metadata = None
        if place is not None:
            number = self._metadata_of(row)
            self._metadata.check(number)
            metadata, _ = _from_json(self._metadata.at(number).decode())
            metadata[STRUCTURE_KEY] = place.decode()
        return Record(id_, text.decode(), metadata), bool(as_written)


class _Pieces:
    """Byte strings that are joined in an array of a segment."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], name: str) -> None:
        self._arrays = arrays
        self._name = name
        self._content = with_rows(arrays, name, 0, 0).data
        self._end = arrays[f"{name}_ends"].item

    def at(self, number: int) -> bytes:
        """A byte string, unchecked."""
        return self._content[self._end(number - 1) if number else 0 : self._end(number)].tobytes()

    def check(self, number: int) -> None:
        """Compare the blocks that contain a byte string with their checksums, unless that was done before."""
        with_rows(self._arrays, self._name, self._end(number - 1) if number else 0, self._end(number))


def _is_same(kept_record: tuple[Record, bool] | None, text: str, metadata: Mapping[str, Any]) -> bool:
    """Whether a record has this text and metadata. They are compared as JSON, too, since NaN is not equal to itself."""
    if kept_record is None or kept_record[0].text != text:
        return False
    kept = kept_record[0].metadata
    return kept == metadata or json.dumps(kept, sort_keys=True) == json.dumps(dict(metadata), sort_keys=True)


def _arrays_of(stored: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, NDArray[Any]]:
    """Make the arrays of a segment from each leaf's text and metadata."""
    import numpy as np

    texts: list[bytes] = []
    places: list[bytes] = []
    numbers: list[int] = []
    known: dict[bytes, int] = {}
    for text, metadata in stored:
        texts.append(text.encode())
        places.append(str(metadata[STRUCTURE_KEY]).encode())
        own = {key: value for key, value in metadata.items() if key != STRUCTURE_KEY}
        numbers.append(known.setdefault(_as_json(own).encode(), len(known)))
    return {
        "texts": _joined(texts),
        "texts_ends": _ends(texts),
        "places": _joined(places),
        "places_ends": _ends(places),
        "metadata": _joined(known),
        "metadata_ends": _ends(known),
        "metadata_of": np.array(numbers, dtype=np.int32),
    }


def _joined(pieces: Iterable[bytes]) -> NDArray[np.uint8]:
    import numpy as np

    return np.frombuffer(b"".join(pieces), dtype=np.uint8)


def _ends(pieces: Iterable[bytes]) -> NDArray[np.int64]:
    import numpy as np

    return np.fromiter(accumulate(map(len, pieces)), dtype=np.int64)


def _kept(
    content: NDArray[np.uint8], ends: NDArray[np.int64], mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The byte strings that a mask selects, joined, and their lengths."""
    import numpy as np

    lengths = np.diff(ends, prepend=0)
    if mask is None:
        return content, lengths
    return content[np.repeat(mask, lengths)], lengths[mask]
