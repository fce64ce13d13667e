"""What a mirror holds of an index at one moment."""

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
    """A segment, where its documents lie in it, and the file it is in, None for one in memory."""

    def __init__(self, segment: Segment, path: Path | None) -> None:
        self.documents = segment.documents
        self.arrays = segment.arrays
        self.path = path
        self.sizes = [size for _, _, size in segment.documents]
        self.starts = list(accumulate(self.sizes, initial=0))[:-1]
        self.leaves = sum(self.sizes)
        self.place = {document_id: place for place, (document_id, _, _) in enumerate(segment.documents)}
        self._current: tuple[Catalogue | None, list[bool]] = (None, [])

    def current(self, catalogue: Catalogue) -> list[bool]:
        """Which of the documents are there in this version; it is asked several times of one catalogue."""
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
    """Segments, and which of their documents count: those whose version does, each in the first segment that has it.

    Their leaves are numbered through, the dead ones too; a leaf's number is its row. All ids are those stored.
    ``live[n]`` is how many leaves of segment n count.
    """

    def __init__(self, catalogue: Catalogue, held: Sequence[OpenSegment]) -> None:
        import numpy as np

        self.catalogue = catalogue
        self.parts: list[MaskedArrays] = []
        self.live: list[int] = []
        self._held = list(held)
        self._begins = list(accumulate((each.leaves for each in held), initial=0))
        self.leaves = self._begins.pop()
        self._counts: list[list[bool]] = []  # by segment, of its documents
        self._masks: weakref.WeakKeyDictionary[Selection, Mask] = weakref.WeakKeyDictionary()
        for number, each in enumerate(self._held):
            counts = each.current(catalogue)
            for earlier, counted in zip(self._held[:number], self._counts, strict=True):
                both = [
                    each.place[document_id]
                    for document_id in each.place.keys() & earlier.place.keys()
                    if counted[earlier.place[document_id]]
                ]
                if both:
                    counts = list(counts)
                    for place in both:
                        counts[place] = False
            mask = None if all(counts) else np.repeat(np.array(counts, bool), each.sizes)
            self.parts.append((each.arrays, mask))
            self.live.append(each.leaves if mask is None else int(np.count_nonzero(mask)))
            self._counts.append(counts)

    def counted(self, number: int) -> list[tuple[str, str, int]]:
        """The documents of a segment that count."""
        return [
            document for document, counts in zip(self._held[number].documents, self._counts[number], strict=True) if counts
        ]

    def missing(self) -> list[Row]:
        """The rows of the documents that have leaves, of which none are here."""
        rows = [row for row in self.catalogue.rows.values() if row.version is not None and row.leaves]
        if sum(row.leaves for row in rows) == sum(self.live):
            return []
        here: set[str] = set()
        for held, counts in zip(self._held, self._counts, strict=True):
            here.update(compress(held.place, counts))
        return [row for row in rows if row.document_id not in here]

    def leaf(self, row: int) -> LeafId:
        """The id of the leaf in this row."""
        number = bisect_right(self._begins, row) - 1
        held, row = self._held[number], row - self._begins[number]
        place = bisect_right(held.starts, row) - 1
        document_id, version, _ = held.documents[place]
        return LeafId(document_id, version, row - held.starts[place])

    def rows(self, places: Iterable[tuple[str, int]]) -> list[int]:
        """The rows of leaves, by document and ordinal.

        Raises:
            Gone: if one of them does not count.
        """
        found = []
        known: dict[str, slice | None] = {}
        for document_id, ordinal in places:
            if document_id not in known:
                known[document_id] = self._find(document_id)
            rows = known[document_id]
            if rows is None or rows.start + ordinal >= rows.stop:
                raise StaleRead
            found.append(rows.start + ordinal)
        return found

    def mask(self, selection: Selection) -> Mask:
        """Which leaves are those of the selection."""
        mask = self._masks.get(selection)
        if mask is None:
            self._masks[selection] = mask = self._mask(selection)
        return mask

    def _mask(self, selection: Selection) -> Mask:
        import numpy as np

        if len(selection.ids) * 8 < sum(map(len, self._counts)):
            mask = np.zeros(self.leaves, bool)
            for rows in map(self._find, selection.ids):
                if rows is not None:
                    mask[rows] = True
            return mask
        masks = [
            np.repeat(
                np.array(
                    [
                        counts and document[0] in selection.ids
                        for counts, document in zip(counted, held.documents, strict=True)
                    ],
                    bool,
                ),
                held.sizes,
            )
            for counted, held in zip(self._counts, self._held, strict=True)
        ]
        return np.concatenate([np.empty(0, bool), *masks])

    def _find(self, document_id: str) -> slice | None:
        """The rows of a document's leaves, None where it does not count."""
        for begin, held, counts in zip(self._begins, self._held, self._counts, strict=True):
            place = held.place.get(document_id)
            if place is not None and counts[place]:
                start = begin + held.starts[place]
                return slice(start, start + held.sizes[place])
        return None
