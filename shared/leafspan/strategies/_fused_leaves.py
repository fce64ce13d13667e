"""The leaves and larger nodes that were found for a query, with their scores as arrays.

A leaf's number is the place of its document among the found documents (sorted by id) times ``_DOCUMENT``, plus the leaf's
ordinal. So neighbours have neighbouring numbers, and numbers sort by document and position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.values import LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


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

    def lookup(self, leaves: Iterable[LeafId]) -> list[int]:
        """The number of each leaf; below 0 if its document is not among the numbered ones."""
        firsts = self._firsts
        return [firsts.get(leaf[:2], -_DOCUMENT) + leaf[2] for leaf in leaves]

    def leaves(self, numbers: Iterable[int]) -> Iterator[LeafId]:
        """The leaves with these numbers."""
        for number in numbers:
            place, ordinal = divmod(number, _DOCUMENT)
            yield LeafId(*self.documents[place], ordinal)

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
        distinct, fused = numbers[firsts], combine.reduceat(scores, firsts) if len(firsts) else scores
        everything, bonuses = neighbour_bonuses(distinct, fused, neighbour_bonus, document=_DOCUMENT)
        of_all = np.zeros(len(everything))
        are_found = np.zeros(len(everything), np.bool_)
        places = everything.searchsorted(distinct)
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
        leaves = FusedLeaves(known_as, everything, *columns)
        leaves.sums[everything.searchsorted(others)] += list(bonuses.values())
        return leaves

    def have_found(self, leaves: Iterable[LeafId]) -> list[bool]:
        """Whether each leaf has a fused score."""
        own = set(self.numbers[self.are_found].tolist())
        return [number in own for number in self.known_as.lookup(leaves)]

    def sums_of(self, leaves: Iterable[LeafId]) -> list[float]:
        """The sum of each leaf; negative infinity for a leaf that is not here."""
        numbers = dict(zip(self.numbers.tolist(), self.sums.tolist(), strict=True))
        return [numbers.get(number, -inf) for number in self.known_as.lookup(leaves)]

    @property
    def are_there(self) -> NDArray[np.bool_]:
        """Whether each leaf surely exists: a leaf before a found leaf does, a leaf after the last found leaf may not."""
        exists = self.are_found.copy()
        exists[:-1] |= self.are_found[1:] & (self.numbers[1:] - self.numbers[:-1] == 1)
        return exists

    def best_first(self) -> Iterator[tuple[int, LeafId]]:
        """The place of each leaf, and the leaf, by score, then document, then position."""
        places = (-self.sums).argsort(kind="stable")
        return zip(places.tolist(), self.known_as.leaves(self.numbers[places].tolist()), strict=True)

    def sums_in(self, documents: Collection[str]) -> dict[LeafId, float]:
        """The sums of the leaves of documents."""
        pairs = zip(self.known_as.leaves(self.numbers.tolist()), self.sums.tolist(), strict=True)
        return {leaf: score for leaf, score in pairs if leaf.document_id in documents}


def neighbour_bonuses(
    numbers: Numbers, scores: NDArray[Any], share: float, *, document: int
) -> tuple[Numbers, NDArray[np.float64]]:
    """A bonus for each leaf: ``share`` times the score of its better neighbour, if that score is above 0.

    Leaves are given by numbers: their document's number times ``document``, plus their ordinal, which is smaller.
    Neighbours of leaves with a score get a bonus too, even without a score of their own: so the answer has more numbers, in
    ascending order. It may include an ordinal after the end of a document, which the caller has to drop.
    """
    import numpy as np

    bonus = share * scores
    gives = bonus > 0
    before, behind = gives & (numbers % document > 0), gives
    # A leaf without a bonus for its neighbours gives itself 0.
    takers = np.concatenate([numbers, numbers - before, numbers + behind])
    order = takers.argsort(kind="stable")
    takers = takers[order]
    # The first taker, if any, and each taker that differs from the previous one.
    firsts = np.flatnonzero(np.concatenate([takers[:1] >= 0, takers[1:] != takers[:-1]]))
    amounts = np.concatenate([np.zeros(len(numbers)), bonus * before, bonus * behind])[order]
    return takers[firsts], np.maximum.reduceat(amounts, firsts) if len(firsts) else amounts


class NodeHit(NamedTuple):
    """A node that matches the words of a question.

    Attributes:
        first: Number of its first leaf: the number of its document's first leaf (see ``MatchingNodes``), plus its ordinal.
        last: Number of its last leaf.
        rank: Rank among the nodes of its scale, from 1.
        score: Its BM25.
        share: The score scaled to [0, 1], so that the best node has 1, and the last one considered 0.
    """

    first: int
    last: int
    rank: int
    score: float
    share: float


class NodeHits(NamedTuple):
    """The nodes of one scale that match best, in the order of their leaves. Nodes do not overlap.

    Each attribute is a column with one attribute of all ``NodeHit`` values.
    """

    firsts: NDArray[np.intp]
    lasts: NDArray[np.intp]
    ranks: NDArray[np.intp]
    scores: NDArray[np.float64]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, hits: Sequence[NodeHit]) -> NodeHits:
        """The columns for these nodes, in this order."""
        import numpy as np

        firsts, lasts, ranks, scores, shares = zip(*hits, strict=True) if hits else ((),) * 5
        whole = [np.array(column, np.intp) for column in (firsts, lasts, ranks)]
        return cls(whole[0], whole[1], whole[2], np.array(scores, np.float64), np.array(shares, np.float64))

    def holding(self, numbers: NDArray[np.intp]) -> list[NodeHit | None]:
        """The node that holds each leaf (given by number), or None if no node holds it."""
        if not len(self.firsts):
            return [None] * len(numbers)
        places, are_inside = self._places_of(numbers)
        rows = zip(*(column[places].tolist() for column in self), strict=True)
        return [NodeHit._make(row) if is_inside else None for row, is_inside in zip(rows, are_inside.tolist(), strict=True)]

    def shares_of(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        """The share of the node that holds each leaf (given by number), or 0 if no node holds it."""
        import numpy as np

        if not len(self.firsts):
            return np.zeros(len(numbers))
        places, are_inside = self._places_of(numbers)
        return np.where(are_inside, self.shares[places], 0.0)

    def _places_of(self, numbers: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The place of the last node that starts before each leaf, and whether that node holds the leaf."""
        places = self.firsts.searchsorted(numbers, side="right") - 1
        return places, (places >= 0) & (numbers <= self.lasts[places])


@dataclass(frozen=True, slots=True)
class MatchingNodes:
    """The parents, sections and documents that match the words of a question best.

    Attributes:
        first_leaf: Function from a document's id to the number of its first leaf; None if the document is not current.
        scales: The nodes of each scale.
    """

    first_leaf: Callable[[str], int | None]
    scales: tuple[NodeHits, ...]

    def of(self, leaves: Sequence[LeafId]) -> list[tuple[NodeHit | None, ...]]:
        """For each leaf, the node of each scale that holds it, or None if that node is not among the best."""
        numbers = self._numbers_of(leaves)
        return list(zip(*(nodes.holding(numbers) for nodes in self.scales), strict=True))

    def shares(self, leaves: Sequence[LeafId], weights: Sequence[float]) -> NDArray[np.float64]:
        """The sum of the shares of the nodes that hold each leaf, each times the weight of its scale."""
        return self.shares_at(self._numbers_of(leaves), weights)

    def shares_at(self, numbers: NDArray[np.intp], weights: Sequence[float]) -> NDArray[np.float64]:
        """The same for leaves that are given by number."""
        import numpy as np

        shares = np.zeros(len(numbers))
        for nodes, weight in zip(self.scales, weights, strict=True):
            shares += weight * nodes.shares_of(numbers)
        return shares

    def _numbers_of(self, leaves: Sequence[LeafId]) -> NDArray[np.intp]:
        import numpy as np

        firsts = [self.first_leaf(leaf[0]) for leaf in leaves]
        # No node has a leaf with a negative number.
        return np.array(
            [-1 if first is None else first + leaf[2] for first, leaf in zip(firsts, leaves, strict=True)], np.intp
        )


_DOCUMENT = 1 << 32  # more than any document's number of leaves
