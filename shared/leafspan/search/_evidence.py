"""What the BM25 of leaves and of the larger nodes that they are in says together of each leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from leafspan.lexical import NodeScores, Scores, best
from leafspan.strategies import NodeHit, ScaleWeights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NODES = (100, 100, 50)  # parents, sections and documents that count


class Evidence:
    """The best nodes of each scale, in the order of their leaves, and what they and leaves' own BM25 say of each leaf.

    Args:
        rows: The leaves that match best, best first.
        scores: Their scores.
        nodes: The scores of the nodes of each scale, the last of which is that of documents.
        wanted: Mask of the leaves that may be found, with all leaves of a document or none. None for all.
        weights: How much leaves and nodes count.
        order: A sorting key for a leaf, by its row.
        leaves: Number of all leaves.

    Attributes:
        nodes: The best nodes of each scale, in the order of their rows. A leaf's number is its row.
    """

    def __init__(
        self,
        rows: Sequence[int],
        scores: Sequence[float],
        nodes: Sequence[NodeScores],
        wanted: NDArray[np.bool_] | None,
        weights: ScaleWeights,
        order: Callable[[int], Any],
        leaves: int,
    ) -> None:
        import numpy as np

        self.nodes = [_best_nodes(each, count, wanted, order) for each, count in zip(nodes, _NODES, strict=True)]
        self._rows = np.array(rows, dtype=np.intp)
        self._documents = nodes[-1].firsts
        self._order = order
        self._of_nodes = np.zeros(leaves)
        for scale, weight in zip(self.nodes, weights[1:], strict=True):
            for node in scale:
                self._of_nodes[node.first : node.last + 1] += weight * node.share
        self._sums = self._of_nodes.copy()
        self._sums[self._rows] += weights.leaf * np.array(_scaled(scores))

    def among(self, count: int) -> tuple[NDArray[np.intp], list[float]]:
        """The leaves with the highest sums, and those that match best by themselves: rows in order, and nodes' shares."""
        import numpy as np

        rows = np.union1d(self._rows, self._best(count))
        return rows, self._of_nodes[rows].tolist()

    def first_rows(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The row of the first leaf of the document that each leaf is in."""
        return self._documents[self._places(rows)]

    def _places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        import numpy as np

        return np.searchsorted(self._documents, rows, side="right") - 1

    def _best(self, count: int) -> NDArray[np.intp]:
        """The rows with the highest sums above 0. Equal ones go by document, then position."""
        import numpy as np

        rows = np.flatnonzero(self._sums)
        if len(rows) <= count:
            return rows
        sums = self._sums[rows]
        least = np.partition(sums, len(rows) - count)[len(rows) - count]
        above, tied = rows[sums > least], rows[sums == least]
        # Whole nodes have equal sums, so there are many ties: a document is looked at once.
        documents, of_tied = np.unique(self._places(tied), return_inverse=True)
        firsts = self._documents[documents].tolist()
        ranks = np.empty(len(firsts), np.intp)
        ranks[sorted(range(len(firsts)), key=lambda place: self._order(firsts[place]))] = np.arange(len(firsts))
        return np.concatenate([above, tied[np.lexsort((tied, ranks[of_tied]))[: count - len(above)]]])


def _best_nodes(
    nodes: NodeScores, count: int, wanted: NDArray[np.bool_] | None, order: Callable[[int], Any]
) -> list[NodeHit]:
    """The best nodes of a scale, as far as they have a share, in the order of their rows."""
    marked = None if wanted is None else (nodes.scores > 0) & wanted[nodes.firsts]
    places = best(Scores(nodes.scores, marked, 0.0), count, lambda place: order(int(nodes.firsts[place])))
    scores = nodes.scores[places].tolist()
    columns = (
        nodes.firsts[places].tolist(),
        nodes.lasts[places].tolist(),
        range(1, len(places) + 1),
        scores,
        _scaled(scores),
    )
    return sorted(NodeHit(*each) for each in zip(*columns, strict=True) if each[-1] > 0)


def _scaled(scores: Sequence[float]) -> list[float]:
    """Scores, best first, scaled to [0, 1]: 1 for the first, 0 for the last. All 1 where they are equal."""
    if not scores:
        return []
    low, width = scores[-1], scores[0] - scores[-1]
    return [(score - low) / width for score in scores] if width > 0 else [1.0] * len(scores)
