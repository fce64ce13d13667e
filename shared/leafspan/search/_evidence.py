"""Combines the BM25 scores of leaves and of the larger nodes above them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from leafspan.lexical import NodeScores, score_reached_by
from leafspan.strategies import MatchingNodes, NodeHits, ScaleWeights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NODES = (100, 100, 50)  # number of best parents, sections and documents to use


class Evidence:
    """The best nodes of each scale, and the score that they and the leaves' own BM25 give to each leaf."""

    def __init__(
        self,
        rows: Sequence[int],
        scores: Sequence[float],
        nodes: Sequence[NodeScores],
        wanted: NDArray[np.bool_] | None,
        weights: ScaleWeights,
        order: Callable[[Sequence[int]], Sequence[Any]],
        leaves: int,
        first_leaf: Callable[[str], int | None],
    ) -> None:
        import numpy as np

        best = tuple(_best_nodes(each, count, wanted) for each, count in zip(nodes, _NODES, strict=True))
        self.nodes = MatchingNodes(first_leaf, best)
        self._documents = nodes[-1].firsts
        self._order = order
        self._leaves = leaves
        self._weights = weights[1:]
        by_row = sorted(zip(rows, _scaled(scores), strict=True))
        self._rows = np.array([row for row, _ in by_row], dtype=np.intp)
        self._shares = weights.leaf * np.array([share for _, share in by_row])

    def among(self, count: int) -> tuple[list[int], list[float]]:
        """The leaves with the highest sums and the search's best leaves: their rows in order, and the nodes' shares."""
        rows = self._candidates(count)
        of_nodes = self.nodes.shares_at(rows, self._weights)
        own = rows.searchsorted(self._rows)
        chosen = self._best(rows, of_nodes, own, count)
        chosen[own] = True
        return rows[chosen].tolist(), of_nodes[chosen].tolist()

    def _places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        import numpy as np

        return np.searchsorted(self._documents, rows, side="right") - 1

    def _candidates(self, count: int) -> NDArray[np.intp]:
        """The rows that may have one of the highest sums: they match themselves, or get most from nodes.

        The nodes' share only changes where a node begins or ends. So only these places are compared, and leaves only where
        they are needed, which are few even in a large index.
        """
        import numpy as np

        ends_of_nodes = [each.lasts + 1 for each in self.nodes.scales]
        edges = _unique(np.concatenate([[0, self._leaves], *(each.firsts for each in self.nodes.scales), *ends_of_nodes]))
        starts, lengths = edges[:-1], edges[1:] - edges[:-1]
        values = self.nodes.shares_at(starts, self._weights)
        best_first = np.argsort(-values, kind="stable")
        enough = int(np.searchsorted(np.cumsum(lengths[best_first]), count))
        least = values[best_first[enough]] if enough < len(values) else 0.0
        chosen = values >= least if least > 0 else values > 0
        starts, lengths = starts[chosen], lengths[chosen]
        ends = np.cumsum(lengths)
        rows = np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
        return _unique(np.concatenate([rows, self._rows]))

    def _best(
        self, rows: NDArray[np.intp], of_nodes: NDArray[np.float64], own: NDArray[np.intp], count: int
    ) -> NDArray[np.bool_]:
        """A mask of the rows with the highest sums above 0. Ties are ordered by document, then position."""
        import numpy as np

        sums = of_nodes.copy()
        sums[own] += self._shares
        chosen: NDArray[np.bool_] = sums > 0
        if np.count_nonzero(chosen) <= count:
            return chosen
        least = np.partition(sums, len(rows) - count)[len(rows) - count]
        chosen, tied = sums > least, np.flatnonzero(sums == least)
        # Whole nodes have equal sums, so there are many ties: each document is ranked once.
        places = self._places(rows[tied])
        documents = _unique(places)
        firsts = self._documents[documents].tolist()
        ranks = np.empty(len(firsts), np.intp)
        keys = self._order(firsts)
        ranks[sorted(range(len(firsts)), key=keys.__getitem__)] = np.arange(len(firsts))
        in_order = ranks[documents.searchsorted(places)].argsort(kind="stable")  # rows of a document are in order
        chosen[tied[in_order[: count - np.count_nonzero(chosen)]]] = True
        return chosen


def _best_nodes(nodes: NodeScores, count: int, wanted: NDArray[np.bool_] | None) -> NodeHits:
    """The best nodes of a scale that have a share, ordered by their rows.

    The last ones have a share of 0, so it does not matter which of several equal nodes are used. Equal nodes have the same
    rank. If more than ``count`` nodes have the best score, they carry no information, so the result is empty.
    """
    import numpy as np

    scores = nodes.scores if wanted is None else np.where(wanted[nodes.firsts], nodes.scores, 0.0)
    places = np.flatnonzero((scores > 0) & (scores >= score_reached_by(count, scores)))
    values = scores[places]
    best_first = np.sort(values)[::-1][:count]
    low, width = (best_first[-1], best_first[0] - best_first[-1]) if len(values) else (0.0, 0.0)
    if width == 0 and len(values) > count:
        return NodeHits.of(())
    shares = (values - low) / width if width > 0 else np.ones(len(values))
    kept = shares > 0
    places, values = places[kept], values[kept]
    ranks = 1 + np.searchsorted(-best_first, -values)
    return NodeHits(nodes.firsts[places], nodes.lasts[places], ranks, values, shares[kept])


def _scaled(scores: Sequence[float]) -> list[float]:
    """Scale scores, best first, to [0, 1]: 1 for the first, 0 for the last. Equal scores are all 1."""
    if not scores:
        return []
    low, width = scores[-1], scores[0] - scores[-1]
    return [(score - low) / width for score in scores] if width > 0 else [1.0] * len(scores)


def _unique(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """These rows without repetition, in ascending order. For few rows, this is several times as fast as np.unique."""
    import numpy as np

    rows = np.sort(rows)
    kept = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=kept[1:])
    return rows[kept]
