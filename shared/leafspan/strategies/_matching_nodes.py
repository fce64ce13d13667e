"""The leaves and larger nodes that match the words of a question best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leafspan.values import LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class NodeHit(NamedTuple):
    """A leaf or a larger node that matches the words of a question.

    Attributes:
        first: Row of its first leaf: the row of its document's first leaf (see ``MatchingNodes``), plus its ordinal.
        last: Row of its last leaf.
        rank: Rank among the nodes of its scale, from 1.
        score: Its BM25.
        share: How well it matches, in [0, 1]. A leaf has its score divided by the best leaf's. A larger node has less, the
            less the best nodes of its scale stand out from the others.
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

    def holding(self, rows: NDArray[np.intp]) -> list[NodeHit | None]:
        """The node that holds the leaf in each row, or None if no node holds it."""
        if not len(self.firsts):
            return [None] * len(rows)
        places, are_inside = self._places_of(rows)
        hits = zip(*(column[places].tolist() for column in self), strict=True)
        return [NodeHit._make(hit) if is_inside else None for hit, is_inside in zip(hits, are_inside.tolist(), strict=True)]

    def shares_at(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The share of the node that holds the leaf in each row, or 0 if no node holds it."""
        import numpy as np

        if not len(self.firsts):
            return np.zeros(len(rows))
        places, are_inside = self._places_of(rows)
        return np.where(are_inside, self.shares[places], 0.0)

    def _places_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The place of the last node that starts before each leaf, and whether that node holds the leaf."""
        places = self.firsts.searchsorted(rows, side="right") - 1
        return places, (places >= 0) & (rows <= self.lasts[places])


@dataclass(frozen=True, slots=True)
class MatchingNodes:
    """The leaves, parents, sections and documents that match the words of a question best.

    Attributes:
        rows: Function from a document's id to the rows of its leaves; None if the document is not current.
        scales: The nodes of each scale: leaves, parents, sections, documents.
    """

    rows: Callable[[str], slice | None]
    scales: tuple[NodeHits, ...]

    def of(self, leaves: Sequence[LeafId]) -> list[tuple[NodeHit | None, ...]]:
        """The nodes that hold each leaf, one for each scale: None if a node is not among the best."""
        import numpy as np

        of_documents = {document_id: self.rows(document_id) for document_id in {leaf[0] for leaf in leaves}}
        rows = np.array([-1 if (own := of_documents[leaf[0]]) is None else own.start + leaf[2] for leaf in leaves], np.intp)
        return list(zip(*(nodes.holding(rows) for nodes in self.scales), strict=True))

    def evidence(self, rows: NDArray[np.intp], weights: Sequence[float]) -> NDArray[np.float64]:
        """For the leaf in each row, the sum of the shares of the nodes that hold it, each times its scale's weight."""
        import numpy as np

        evidence = np.zeros(len(rows))
        for nodes, weight in zip(self.scales, weights, strict=True):
            evidence += weight * nodes.shares_at(rows)
        return evidence
