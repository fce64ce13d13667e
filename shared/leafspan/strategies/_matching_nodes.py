"""The leaves and larger nodes that match the words of a question best."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leafspan.flows import NDArray, np
from leafspan.values import LeafId


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

    def holding(self, row: int) -> NodeHit | None:
        place = bisect_right(self.firsts.data, row) - 1
        if place < 0 or row > self.lasts[place]:
            return None
        return NodeHit._make([column.item(place) for column in self])


@dataclass(frozen=True, slots=True)
class MatchingNodes:
    """The leaves, parents, sections and documents that match the words of a question best.

    Attributes:
        rows: Function from a document's id to the rows of its leaves; None if the document is not current.
        scales: The nodes of each scale: leaves, parents, sections, documents.
    """

    rows: Callable[[str], slice | None]
    scales: tuple[NodeHits, ...]
    _runs: dict[tuple[float, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def of(self, leaf: LeafId) -> list[NodeHit | None]:
        """The nodes that hold a leaf, one for each scale: None if a node is not among the best."""
        rows = self.rows(leaf.document_id)
        return [None if rows is None else nodes.holding(rows.start + leaf.ordinal) for nodes in self.scales]

    def evidence(self, rows: NDArray[np.intp], weights: Sequence[float]) -> NDArray[np.float64]:
        """For the leaf in each row, the sum of the shares of the nodes that hold it, each times its scale's weight."""
        starts, evidence = self.runs(weights)
        return evidence[starts.searchsorted(rows, side="right") - 1]  # before the first run, the last one's, which is 0

    def runs(self, weights: Sequence[float]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The first row of each run of rows with the same evidence, and the evidence. The last run is without end."""
        if (runs := self._runs.get(key := tuple(weights))) is None:
            # Only where a node begins or ends. A row may come twice: then a run is empty.
            bounds = (each for nodes in self.scales for each in (nodes.firsts, nodes.lasts + 1))
            starts = np.sort(np.concatenate([[0], *bounds]))
            evidence = np.zeros(len(starts))
            for nodes, weight in zip(self.scales, weights, strict=True):
                if len(nodes.firsts):
                    places = nodes.firsts.searchsorted(starts, side="right") - 1
                    are_inside = (places >= 0) & (starts <= nodes.lasts[places])
                    evidence += np.where(are_inside, weight * nodes.shares[places], 0.0)
            self._runs[key] = runs = starts, evidence
        return runs
