"""What a mirror holds of an index at one moment."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leafspan.mirror.segment import Segment
from leafspan.store import Catalogue, Row, Selection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Part = tuple[Mapping[str, NDArray[Any]], Mask | None]


class Mirrored:
    """Segments, and which of their documents count: those whose version does, each in the first segment that has it.

    Their leaves are numbered through, the dead ones too; a leaf's number is its row. All ids are those stored.
    """

    def __init__(self, catalogue: Catalogue, segments: Sequence[Segment]) -> None:
        import numpy as np

        self.catalogue = catalogue
        self.parts: list[Part] = []
        self.leaves = 0
        self._documents: list[tuple[str, str]] = []
        self._starts: list[int] = []  # the first row of each of these documents
        self._counts: list[bool] = []
        self._place: dict[str, int] = {}  # of the documents that count
        self._masks: weakref.WeakKeyDictionary[Selection, Mask] = weakref.WeakKeyDictionary()
        self._lengths: list[int] = []
        self._sizes = [len(segment.documents) for segment in segments]
        for segment in segments:
            counts, sizes = [], []
            for document_id, version, leaves in segment.documents:
                row = catalogue.rows.get(document_id)
                counted = row is not None and row.version == version and document_id not in self._place
                if counted:
                    self._place[document_id] = len(self._documents)
                self._documents.append((document_id, version))
                self._starts.append(self.leaves)
                self.leaves += leaves
                counts.append(counted)
                sizes.append(leaves)
            self.parts.append((segment.arrays, None if all(counts) else np.repeat(np.array(counts, bool), sizes)))
            self._counts += counts
            self._lengths += sizes

    def counted(self, part: int) -> list[tuple[str, str, int]]:
        """The documents of a part that count, as a segment names them."""
        begin = sum(self._sizes[:part])
        return [
            (*self._documents[place], self._lengths[place])
            for place in range(begin, begin + self._sizes[part])
            if self._counts[place]
        ]

    @property
    def live(self) -> int:
        """How many leaves count."""
        return sum(length for length, counted in zip(self._lengths, self._counts, strict=True) if counted)

    def missing(self) -> list[Row]:
        """The rows of the documents that have leaves, of which none are here."""
        rows = self.catalogue.rows.values()
        return [row for row in rows if row.version is not None and row.leaves and row.document_id not in self._place]

    def leaf(self, row: int) -> tuple[str, str, int]:
        """Document, version and ordinal of a leaf."""
        place = bisect_right(self._starts, row) - 1
        return (*self._documents[place], row - self._starts[place])

    def mask(self, selection: Selection) -> Mask:
        """Which leaves are those of the selection."""
        import numpy as np

        mask = self._masks.get(selection)
        if mask is None:
            if len(selection.ids) * 8 < len(self._place):
                mask = np.zeros(self.leaves, bool)
                for place in (self._place[id_] for id_ in selection.ids if id_ in self._place):
                    mask[self._starts[place] : self._starts[place] + self._lengths[place]] = True
            else:
                chosen = [
                    counted and document_id in selection.ids
                    for counted, (document_id, _) in zip(self._counts, self._documents, strict=True)
                ]
                mask = np.repeat(np.array(chosen, bool), self._lengths)
            self._masks[selection] = mask
        return mask
