"""The larger nodes that match the words of a question best: parents, sections and documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leafspan.values import LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
        import numpy as np

        numbers = self._numbers_of(leaves)
        shares = np.zeros(len(leaves))
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
