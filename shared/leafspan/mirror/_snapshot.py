"""A snapshot of a mirror: its segments, and which of their documents are current at one moment."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafspan.mirror._segment import Segment
from leafspan.store import Catalogue, Row, Selection, StaleRead
from leafspan.values import LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    MaskedArrays = tuple[Mapping[str, NDArray[Any]], Mask | None]


class OpenSegment:
    """A segment, and where its documents are in it.

    Args:
        segment: The segment.
        path: Its file; None for a segment in memory.
    """

    def __init__(self, segment: Segment, path: Path | None) -> None:
        self.documents = segment.documents
        self.arrays = segment.arrays
        self.path = path
        self.sizes = [size for _, _, size in segment.documents]
        self.starts = list(accumulate(self.sizes, initial=0))[:-1]
        self.leaves = sum(self.sizes)
        self.places = {document_id: place for place, (document_id, _, _) in enumerate(segment.documents)}
        self._current: tuple[Catalogue | None, list[bool]] = (None, [])

    def current(self, catalogue: Catalogue) -> list[bool]:
        """Whether each of the documents is in this version the current one. The answer for the last catalogue is kept."""
        known = self._current
        if known[0] is not catalogue:
            rows = catalogue.rows
            known = self._current = (
                catalogue,
                [
                    (row := rows.get(document_id)) is not None and row.version == version and row.leaves == leaves
                    for document_id, version, leaves in self.documents
                ],
            )
        return known[1]


class MirrorSnapshot:
    """Segments of a mirror, and which of their documents are current in a catalogue.

    The leaves of all segments, dead ones included, are numbered one after the other; a leaf's number is its row. A document
    that is current in several segments counts only in the first of them. All ids are stored ids.

    Args:
        catalogue: Catalogue of the whole index.
        segments: The segments.

    Attributes:
        catalogue: The catalogue.
        parts: The arrays of each segment, with a mask of its current leaves; the mask is None if all are current.
        live: Number of current leaves of each segment.
        leaves: Number of all leaves, dead ones included.
    """

    def __init__(self, catalogue: Catalogue, segments: Sequence[OpenSegment]) -> None:
        import numpy as np

        self.catalogue = catalogue
        self.parts: list[MaskedArrays] = []
        self.live: list[int] = []
        self._segments = list(segments)
        self._starts = list(accumulate((segment.leaves for segment in segments), initial=0))  # first row of each segment
        self.leaves = self._starts.pop()
        self._current: list[list[bool]] = []  # for each segment, whether each of its documents is current
        self._masks: weakref.WeakKeyDictionary[Selection, Mask] = weakref.WeakKeyDictionary()
        self._last_rows: tuple[weakref.ref[Selection] | None, NDArray[np.intp]] = (None, np.empty(0, np.intp))
        for segment in self._segments:
            current = self._current_in(segment)
            mask = None if all(current) else np.repeat(np.array(current, bool), segment.sizes)
            self.parts.append((segment.arrays, mask))
            self.live.append(segment.leaves if mask is None else int(np.count_nonzero(mask)))
            self._current.append(current)

    def _current_in(self, segment: OpenSegment) -> list[bool]:
        """Whether each of the segment's documents is current, and in no earlier segment."""
        current = segment.current(self.catalogue)
        earlier_segments = self._segments[: len(self._current)]
        for earlier, current_there in zip(earlier_segments, self._current, strict=True):
            repeated = [
                segment.places[document_id]
                for document_id in segment.places.keys() & earlier.places.keys()
                if current_there[earlier.places[document_id]]
            ]
            if repeated:
                current = list(current)
                for place in repeated:
                    current[place] = False
        return current

    def current_documents(self, number: int) -> list[tuple[str, str, int]]:
        """The current documents of the segment with this number, as (id, version, number of leaves)."""
        return list(compress(self._segments[number].documents, self._current[number]))

    def missing(self) -> list[Row]:
        """The rows of the documents that have leaves, but are not in the mirror."""
        rows = [row for row in self.catalogue.rows.values() if row.version is not None and row.leaves]
        if sum(row.leaves for row in rows) == sum(self.live):
            return []
        present: set[str] = set()
        for segment, current in zip(self._segments, self._current, strict=True):
            present.update(compress(segment.places, current))
        return [row for row in rows if row.document_id not in present]

    def leaf(self, row: int) -> LeafId:
        """The id of the leaf in this row."""
        return self.leaves_in([row])[0]

    def leaves_in(self, rows: Iterable[int]) -> list[LeafId]:
        """The ids of the leaves in these rows."""
        found = []
        for row in rows:
            number = bisect_right(self._starts, row) - 1
            segment, within = self._segments[number], row - self._starts[number]
            place = bisect_right(segment.starts, within) - 1
            document_id, version, _ = segment.documents[place]
            found.append(LeafId(document_id, version, within - segment.starts[place]))
        return found

    def rows(self, leaves: Iterable[tuple[str, int]]) -> list[int]:
        """The rows of leaves, each given by its document and ordinal.

        Raises:
            StaleRead: if one of them is not current.
        """
        found = []
        known: dict[str, slice | None] = {}
        for document_id, ordinal in leaves:
            if document_id not in known:
                known[document_id] = self._find(document_id)
            rows = known[document_id]
            if rows is None or rows.start + ordinal >= rows.stop:
                raise StaleRead
            found.append(rows.start + ordinal)
        return found

    def of_document(self, document_id: str, name: str) -> NDArray[Any] | None:
        """The rows that a document's leaves have in the arrays of this name; None if the document is not current here."""
        if (place := self._place(document_id)) is None:
            return None
        _, segment, number = place
        return segment.arrays[name][segment.starts[number] :][: segment.sizes[number]]

    def place_of(self, document_id: str, version: str) -> tuple[Mapping[str, NDArray[Any]], int, int] | None:
        """The arrays that have this version of a document, with the first of its rows there, and their number.

        None if it is not current here.
        """
        place = self._place(document_id)
        if place is None or place[1].documents[place[2]][1] != version:
            return None
        _, segment, number = place
        return segment.arrays, segment.starts[number], segment.sizes[number]

    def mask(self, selection: Selection) -> Mask:
        """Whether the leaf in each row is current and in the selection. The selection's mask is kept."""
        mask = self._masks.get(selection)
        if mask is None:
            self._masks[selection] = mask = self._mask(selection)
        return mask

    def rows_in(self, selection: Selection) -> NDArray[np.intp]:
        """The rows of the leaves that are current and in the selection, in order. Those of the last selection are kept."""
        import numpy as np

        known, rows = self._last_rows
        if known is None or known() is not selection:
            rows = np.flatnonzero(self.mask(selection))
            self._last_rows = weakref.ref(selection), rows
        return rows

    def _mask(self, selection: Selection) -> Mask:
        import numpy as np

        if len(selection.ids) * 8 < sum(map(len, self._current)):  # few documents: look each of them up
            mask = np.zeros(self.leaves, bool)
            for rows in map(self._find, selection.ids):
                if rows is not None:
                    mask[rows] = True
            return mask
        masks = [np.empty(0, bool)]
        for segment, current in zip(self._segments, self._current, strict=True):
            documents = zip(segment.documents, current, strict=True)
            selected = [is_current and document_id in selection.ids for (document_id, _, _), is_current in documents]
            masks.append(np.repeat(np.array(selected, bool), segment.sizes))
        return np.concatenate(masks)

    def _find(self, document_id: str) -> slice | None:
        """The rows of a document's leaves; None if it is not current."""
        if (place := self._place(document_id)) is None:
            return None
        segment_start, segment, number = place
        start = segment_start + segment.starts[number]
        return slice(start, start + segment.sizes[number])

    def _place(self, document_id: str) -> tuple[int, OpenSegment, int] | None:
        """The first row of the segment in which a document is current, that segment, and its number there; or None."""
        for segment_start, segment, current in zip(self._starts, self._segments, self._current, strict=True):
            number = segment.places.get(document_id)
            if number is not None and current[number]:
                return segment_start, segment, number
        return None
