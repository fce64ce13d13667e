"""The leaves that were found for a query, with their scores as arrays.

A leaf's number is the place of its document among the found documents (sorted by id) times ``_DOCUMENT``, plus the leaf's
ordinal. So neighbours have neighbouring numbers, and numbers sort by document and position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from leafspan.strategies.scoring import neighbour_bonuses
from leafspan.values import LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

_DOCUMENT = 1 << 32  # more than any document's number of leaves


class LeafNumbers:
    """The numbers of the leaves of some documents."""

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        """Number the leaves of documents, given as pairs of id and version."""
        self.documents = sorted(set(documents))
        self._firsts = {document: place * _DOCUMENT for place, document in enumerate(self.documents)}

    @classmethod
    def among(cls, leaves: Iterable[LeafId]) -> LeafNumbers:
        """Numbers for these leaves and all other leaves of their documents."""
        return cls(leaf[:2] for leaf in leaves)

    def of(self, leaves: Collection[LeafId]) -> Numbers:
        """The number of each leaf."""
        import numpy as np

        firsts = self._firsts
        return np.fromiter((firsts[leaf[:2]] + leaf[2] for leaf in leaves), np.int64, len(leaves))

    def number(self, leaf: LeafId) -> int:
        """The number of a leaf; -1 if its document is not among the numbered ones."""
        first = self._firsts.get(leaf[:2])
        return -1 if first is None else first + leaf[2]

    def leaf(self, number: int) -> LeafId:
        """The leaf with this number."""
        place, ordinal = divmod(number, _DOCUMENT)
        return LeafId(*self.documents[place], ordinal)

    def moved_to(self, others: LeafNumbers, numbers: Numbers) -> Numbers:
        """The numbers of the same leaves in ``others``, which covers these documents and more."""
        import numpy as np

        firsts = np.array([others._firsts[document] for document in self.documents], np.int64)
        places, ordinals = np.divmod(numbers, _DOCUMENT)
        return firsts[places] + ordinals


@dataclass(frozen=True, slots=True)
class FusedLeaves:
    """Leaves with a fused score, and their neighbours, in the order of documents and positions."""

    known_as: LeafNumbers  # the meaning of the numbers
    numbers: Numbers
    fused: NDArray[np.float64]  # its fused score, or 0 for a leaf without one
    are_found: NDArray[np.bool_]  # whether the leaf has a fused score
    bonuses: NDArray[np.float64]  # the bonus for the better neighbour
    sums: NDArray[np.float64]  # the leaf's score with all bonuses

    @classmethod
    def of(
        cls, known_as: LeafNumbers, numbers: Numbers, scores: NDArray[Any], neighbour_bonus: float, *, add_up: bool = True
    ) -> FusedLeaves:
        """The leaves. If a leaf has several scores, they are added up; without ``add_up`` the highest counts."""
        import numpy as np

        order = numbers.argsort(kind="stable")
        numbers, scores = numbers[order], np.asarray(scores, np.float64)[order]
        # The first number, if any, and each number that differs from the previous one.
        firsts = np.flatnonzero(np.concatenate([numbers[:1] >= 0, numbers[1:] != numbers[:-1]]))
        combine = np.add if add_up else np.maximum
        found, fused = numbers[firsts], combine.reduceat(scores, firsts) if len(firsts) else scores
        everything, bonuses = neighbour_bonuses(found, fused, neighbour_bonus, document=_DOCUMENT)
        of_all = np.zeros(len(everything))
        are_found = np.zeros(len(everything), np.bool_)
        places = everything.searchsorted(found)
        of_all[places] = fused
        are_found[places] = True
        return cls(known_as, everything, of_all, are_found, bonuses, of_all + bonuses)

    def plus(self, leaves: Sequence[LeafId], shares: Sequence[float], neighbour_bonus: float) -> FusedLeaves:
        """The same leaves with shares added to some. All sums are computed again from the fused scores."""
        import numpy as np

        numbers = np.concatenate([self.numbers[self.are_found], self.known_as.of(leaves)])
        return self.of(self.known_as, numbers, np.concatenate([self.fused[self.are_found], shares]), neighbour_bonus)

    def raised(self, bonuses: Mapping[LeafId, float]) -> FusedLeaves:
        """The same leaves with bonuses added to sums. A new leaf starts with a sum of 0."""
        import numpy as np

        known_as = LeafNumbers([*self.known_as.documents, *(leaf[:2] for leaf in bonuses)])
        own, others = self.known_as.moved_to(known_as, self.numbers), known_as.of(bonuses)
        everything = np.unique(np.concatenate([own, others]))
        places = everything.searchsorted(own)

        def moved(column: NDArray[Any]) -> NDArray[Any]:
            wider = np.zeros(len(everything), column.dtype)
            wider[places] = column
            return wider

        columns = map(moved, (self.fused, self.are_found, self.bonuses, self.sums))
        found = FusedLeaves(known_as, everything, *columns)
        found.sums[everything.searchsorted(others)] += list(bonuses.values())
        return found

    def have_found(self, leaves: Iterable[LeafId]) -> list[bool]:
        """Whether each leaf has a fused score."""
        found = set(self.numbers[self.are_found].tolist())
        return [self.known_as.number(leaf) in found for leaf in leaves]

    def sums_of(self, leaves: Iterable[LeafId]) -> list[float]:
        """The sum of each leaf; negative infinity for a leaf that is not here."""
        numbers = dict(zip(self.numbers.tolist(), self.sums.tolist(), strict=True))
        return [numbers.get(self.known_as.number(leaf), -inf) for leaf in leaves]

    def leaf(self, place: int) -> LeafId:
        """The leaf at a place."""
        return self.known_as.leaf(int(self.numbers[place]))

    @property
    def are_there(self) -> NDArray[np.bool_]:
        """Whether each leaf surely exists: a leaf before a found leaf does, a leaf after the last found leaf may not."""
        there = self.are_found.copy()
        there[:-1] |= self.are_found[1:] & (self.numbers[1:] - self.numbers[:-1] == 1)
        return there

    def best_first(self) -> NDArray[np.intp]:
        """The places of all leaves by score, then document, then position."""
        return (-self.sums).argsort(kind="stable")

    def sums_in(self, documents: Collection[str]) -> dict[LeafId, float]:
        """The sums of the leaves of documents."""
        pairs = zip(map(self.known_as.leaf, self.numbers.tolist()), self.sums.tolist(), strict=True)
        return {leaf: score for leaf, score in pairs if leaf.document_id in documents}
