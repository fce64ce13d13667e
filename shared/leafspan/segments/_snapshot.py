"""A snapshot of an index's segments: which of their documents are current at one moment."""

from __future__ import annotations

import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, compress, repeat
from pathlib import Path
from typing import Any, TypeAlias

from leafspan.engines import StaleRead
from leafspan.flows import NDArray, np
from leafspan.segments._segment import Segment
from leafspan.segments._stored_arrays import StoredArrays
from leafspan.store import Catalogue, Numbering, Row, Selection, document_key
from leafspan.values import LeafId

Mask: TypeAlias = "NDArray[np.bool_]"
MaskedArrays: TypeAlias = "tuple[Mapping[str, NDArray[Any]], Mask | None]"


_MOST_CACHED = 20_000  # documents to cache, since queries often meet the same ones: some 300 bytes each


class OpenSegment:
    """A segment, and the rows of its documents."""

    def __init__(self, segment: Segment, path: Path | None) -> None:
        self.documents = segment.documents
        self.arrays = segment.arrays
        self.path = path
        self.sizes = segment.documents.sizes
        ends = np.cumsum(self.sizes, dtype=np.int64)
        self.starts: memoryview = (ends - self.sizes).data
        self.leaves = int(ends[-1]) if len(ends) else 0
        self._current: tuple[Catalogue | None, Mask] = (None, np.empty(0, bool))

    @property
    def problem(self) -> str | None:
        """The damage that was found in the segment's file since it was opened, or None."""
        return self.arrays.file.problem if isinstance(self.arrays, StoredArrays) else None

    @property
    def is_gone(self) -> bool:
        """Whether others have merged the segment, so that it cannot be fetched. This is not damage."""
        return isinstance(self.arrays, StoredArrays) and self.arrays.file.is_gone

    def current(self, catalogue: Catalogue) -> Mask:
        """Whether each document's version is the current one. The result for the last catalogue is cached."""
        last = self._current
        if last[0] is not catalogue:
            last = self._current = (catalogue, catalogue.current(self.documents))
        return last[1]


class MirrorSnapshot:
    """Segments, and which of their documents are current in a catalogue.

    All leaves of all segments are numbered, including dead ones; a leaf's number is its row. If a document is current in
    several segments, only the first one is used for it. All ids are stored ids.
    """

    def __init__(self, catalogue: Catalogue, segments: Sequence[OpenSegment]) -> None:
        self.catalogue = catalogue
        self.parts: list[MaskedArrays] = []  # the mask is None if all leaves are current
        self.live: list[int] = []  # number of current leaves of each segment
        self.segments = list(segments)
        self._files = [each.arrays.file for each in segments if isinstance(each.arrays, StoredArrays)]
        self._starts = list(accumulate((segment.leaves for segment in segments), initial=0))  # first row of each segment
        self.leaves = self._starts.pop()
        starts = zip(self.segments, self._starts, strict=True)
        # The first row of each document of each segment, and the number that the first document of each segment has there.
        self._firsts = np.concatenate([np.empty(0, np.int64), *(np.add(each.starts, start) for each, start in starts)])
        self._first_numbers = list(accumulate((len(each.documents) for each in segments), initial=0))
        self._documents: dict[int, tuple[str, str]] = {}  # cached ids and versions, by these numbers
        self._masks: weakref.WeakKeyDictionary[Selection, Mask] = weakref.WeakKeyDictionary()
        self._numberings: weakref.WeakKeyDictionary[Numbering, list[NDArray[np.int32]]] = weakref.WeakKeyDictionary()
        self._last_rows: tuple[weakref.ref[Selection] | None, NDArray[np.intp]] = (None, np.empty(0, np.intp))
        self._cache: dict[str, tuple[slice, OpenSegment, int]] = {}  # cached places of documents
        # For each segment, whether each of its documents is current, and not in an earlier segment.
        self._current = [segment.current(catalogue) for segment in self.segments]
        keys, segment_numbers, numbers = self._by_key()
        repeated = np.flatnonzero(keys[1:] == keys[:-1]) if len(keys) else ()
        if len(repeated):
            self._count_once(numbers[np.isin(keys, keys[repeated])])
            keys, segment_numbers, numbers = self._by_key()
        self._keys, self._segment_numbers, self._numbers = keys.data, segment_numbers.data, numbers.data
        for segment, current in zip(self.segments, self._current, strict=True):
            mask = None if current.all() else np.repeat(current, segment.sizes)
            self.parts.append((segment.arrays, mask))
            self.live.append(segment.leaves if mask is None else int(np.count_nonzero(mask)))

    @property
    def is_damaged(self) -> bool:
        return any(file.problem is not None for file in self._files)

    def _by_key(self) -> tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.uint32]]:
        """The sorted keys of the current documents, their segments' numbers, and their numbers in these segments."""
        keys, segment_numbers, numbers = [np.empty(0, np.uint64)], [np.empty(0, np.uint16)], [np.empty(0, np.uint32)]
        for number, (segment, current) in enumerate(zip(self.segments, self._current, strict=True)):
            by_key = segment.documents.by_key()
            kept = current[by_key.places]
            keys.append(by_key.keys[kept])
            numbers.append(by_key.places[kept])
            segment_numbers.append(np.full(len(keys[-1]), number, np.uint16))
        of_all = np.concatenate(keys)
        order = np.argsort(of_all, kind="stable")
        return of_all[order], np.concatenate(segment_numbers)[order], np.concatenate(numbers)[order]

    def _count_once(self, suspects: NDArray[np.uint32]) -> None:
        """If a document is current in several segments, mark it as current only in the first of them."""
        seen: set[str] = set()
        among = set(suspects.tolist())
        for place, (segment, current) in enumerate(zip(self.segments, self._current, strict=True)):
            ids = {number: segment.documents.id(number) for number in among if number < len(current) and current[number]}
            repeated = [number for number, id_ in ids.items() if id_ in seen]
            if repeated:
                self._current[place] = current.copy()
                self._current[place][repeated] = False
            seen.update(ids.values())

    def current_documents(self, number: int) -> list[tuple[str, str | None, int]]:
        """The current documents of the segment with this number, as (id, version, number of leaves)."""
        return list(compress(self.segments[number].documents, self._current[number]))

    @property
    def is_complete(self) -> bool:
        """Whether the segments have all leaves of the catalogue."""
        return self.catalogue.leaves == sum(self.live)

    def missing(self) -> list[Row]:
        """The rows of documents that have leaves but are in no segment."""
        if self.is_complete:
            return []
        present = {
            segment.documents.id(number)
            for segment, current in zip(self.segments, self._current, strict=True)
            for number in current.nonzero()[0].tolist()
        }
        return [
            self.catalogue.rows[id_]
            for id_, version, leaves in self.catalogue.versions()
            if version is not None and leaves and id_ not in present
        ]

    def leaves_in(self, rows: Sequence[int] | NDArray[np.intp]) -> list[LeafId]:
        wanted = np.asarray(rows, np.int64)
        if not len(wanted):
            return []
        numbers = self._firsts.searchsorted(wanted, side="right") - 1
        ordinals = (wanted - self._firsts.take(numbers)).tolist()
        documents = [self._documents.get(number) or self._document(number) for number in numbers.tolist()]
        # Like LeafId(id, version, ordinal) for each, in half the time: a query meets hundreds of leaves.
        return list(map(tuple.__new__, repeat(LeafId), zip(*zip(*documents, strict=True), ordinals, strict=True)))

    def document_ranks(self, visible: Catalogue, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """For each row, the rank of its document among the documents of the rows, by their shown ids. All are visible."""
        numbers = (self._firsts.searchsorted(rows, side="right") - 1).tolist()
        once = list(dict.fromkeys(numbers))  # a whole document can have equal leaves
        leaves = visible.shown_leaves(self.leaves_in(self._firsts.take(once)))
        ordered = sorted(zip([leaf.document_id for leaf in leaves], once, strict=True))
        ranks = {number: rank for rank, (_, number) in enumerate(ordered)}
        return np.fromiter(map(ranks.__getitem__, numbers), np.intp, len(numbers))

    def _document(self, number: int) -> tuple[str, str]:
        """The id and version of a document, by its number in all segments together. Some are cached."""
        place = bisect_right(self._first_numbers, number) - 1
        documents, own = self.segments[place].documents, number - self._first_numbers[place]
        if len(self._documents) >= _MOST_CACHED:
            self._documents.clear()
        pair = self._documents[number] = documents.id(own), documents.version(own) or ""
        return pair

    def rows(self, visible: Catalogue, leaves: Iterable[LeafId]) -> list[int]:
        """The rows of visible leaves, given by their shown ids."""
        rows = []
        of_documents: dict[str, slice | None] = {}
        for document_id, _, ordinal in leaves:
            if document_id not in of_documents:
                of_documents[document_id] = self.rows_of(document_id, visible)
            of_document = of_documents[document_id]
            if of_document is None or of_document.start + ordinal >= of_document.stop:
                raise StaleRead
            rows.append(of_document.start + ordinal)
        return rows

    def place_of(self, document_id: str, version: str) -> tuple[Mapping[str, NDArray[Any]], int, int] | None:
        """The arrays with this version of a document, its first row there, and its number of rows.

        None if the version is not current here.
        """
        place = self._place(document_id)
        if place is None or (place[1].documents.version(place[2]) or "") != version:
            return None
        _, segment, number = place
        return segment.arrays, segment.starts[number], segment.documents.leaves(number)

    def mask(self, selection: Selection) -> Mask:
        """Whether the leaf in each row is current and in the selection. The mask is cached."""
        mask = self._masks.get(selection)
        if mask is None:
            self._masks[selection] = mask = self._mask(selection)
        return mask

    def rows_in(self, selection: Selection) -> NDArray[np.intp]:
        """The rows of the current leaves in the selection, in order. The rows of the last selection are cached."""
        selection_of_rows, rows = self._last_rows
        if selection_of_rows is None or selection_of_rows() is not selection:
            rows = np.flatnonzero(self.mask(selection))
            self._last_rows = weakref.ref(selection), rows
        return rows

    def _mask(self, selection: Selection) -> Mask:
        if selection is self.catalogue.select(None):
            everything = zip(self.segments, self.parts, strict=True)
            masks = [np.ones(segment.leaves, bool) if mask is None else mask for segment, (_, mask) in everything]
            return np.concatenate([np.empty(0, bool), *masks])
        if selection.chosen is not None:
            numbering, chosen = selection.chosen
            chosen = np.append(chosen, False)  # documents without a number have -1
            numbered = zip(self.segments, self._current, self._numbers_in(numbering), strict=True)
            masks = [np.repeat(chosen[numbers] & current, segment.sizes) for segment, current, numbers in numbered]
            return np.concatenate([np.empty(0, bool), *masks])
        if len(selection.ids) * 8 < sum(map(len, self._current)):  # few documents: look up each of them
            mask = np.zeros(self.leaves, bool)
            for rows in map(self.rows_of, selection.ids):
                if rows is not None:
                    mask[rows] = True
            return mask
        masks = [np.empty(0, bool)]
        for segment, current in zip(self.segments, self._current, strict=True):
            ids = map(segment.documents.id, range(len(segment.documents)))
            selected = [is_current and id_ in selection.ids for id_, is_current in zip(ids, current, strict=True)]
            masks.append(np.repeat(np.array(selected, bool), segment.sizes))
        return np.concatenate(masks)

    def _numbers_in(self, numbering: Numbering) -> list[NDArray[np.int32]]:
        """For each segment, its documents' numbers in a numbering. They are cached."""
        numbers = self._numberings.get(numbering)
        if numbers is None:
            self._numberings[numbering] = numbers = [numbering.places_of(segment.documents) for segment in self.segments]
        return numbers

    def rows_of(self, document_id: str, visible: Catalogue | None = None) -> slice | None:
        """The rows of a document's leaves, or None if it is not current; in a scoped view, by its shown id."""
        if visible is not None and visible.is_scoped:
            document_id = visible.stored_id(document_id) or ""
        return None if (place := self._place(document_id)) is None else place[0]

    def _place(self, document_id: str) -> tuple[slice, OpenSegment, int] | None:
        """The rows of a current document, its segment, and its number there; or None."""
        if (place := self._cache.get(document_id)) is not None:
            return place
        if (place := self._search(document_id)) is not None:
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[document_id] = place
        return place

    def _search(self, document_id: str) -> tuple[slice, OpenSegment, int] | None:
        key = document_key(document_id)
        at = bisect_left(self._keys, key)
        while at < len(self._keys) and self._keys[at] == key:
            place, number = self._segment_numbers[at], self._numbers[at]
            segment = self.segments[place]
            if segment.documents.id(number) == document_id:
                start = self._starts[place] + segment.starts[number]
                return slice(start, start + segment.documents.leaves(number)), segment, number
            at += 1
        return None
