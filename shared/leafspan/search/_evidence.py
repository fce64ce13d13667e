"""Finds the leaves and larger nodes that match the words of a question best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from leafspan.lexical import NodeScores, Scores, score_reached_by
from leafspan.strategies import MatchingNodes, NodeHits, ScaleWeights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAVES = 300  # number of best leaves to use
_NODES = (100, 100, 50)  # number of best parents, sections and documents to use


def best_leaves(rows: NDArray[np.intp], scores: NDArray[np.float64]) -> NodeHits:
    """Leaves, given best first, as the smallest nodes: the share of a leaf is its score divided by the best leaf's."""
    import numpy as np

    order = np.argsort(rows)
    shares = np.maximum(scores, 0) / scores[0] if len(scores) and scores[0] > 0 else np.ones(len(scores))
    ranks = 1 + np.searchsorted(-scores, -scores)
    places = rows[order]
    return NodeHits(places, places, ranks[order], scores[order], shares[order])


def best_nodes(scales: Sequence[NodeScores], wanted: NDArray[np.bool_] | None) -> tuple[NodeHits, ...]:
    """The best parents, sections and documents, among the ``wanted`` ones."""
    return tuple(_best_of_scale(nodes, count, wanted) for nodes, count in zip(scales, _NODES, strict=True))


def _best_of_scale(nodes: NodeScores, count: int, wanted: NDArray[np.bool_] | None) -> NodeHits:
    """The best nodes of a scale that have a share, in the order of their rows. Equal nodes have the same rank.

    A node's share is how far its score exceeds the score of the last of the ``count`` best, divided by the best score,
    times the same quotient of the best node. So nodes whose scores are nearly equal have little, since they hardly say
    where the answer is. The last ones have 0, so that it does not matter which of several equal nodes are used.
    """
    import numpy as np

    marked = None if wanted is None else wanted[nodes.firsts]
    scores = nodes.scores if marked is None else np.where(marked, nodes.scores, 0.0)
    least = score_reached_by(count, scores)
    places = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    if not len(places):
        return NodeHits(places, places, places, scores[places], scores[places])
    values = scores[places]
    best_first = np.sort(values)[::-1][:count]
    others = len(scores) if marked is None else np.count_nonzero(marked)
    best, last = best_first[0], best_first[-1] if len(best_first) == min(count, others) else 0.0
    shares = (values - last) / best * ((best - last) / best)
    kept = shares > 0
    places, values = places[kept], values[kept]
    ranks = 1 + np.searchsorted(-best_first, -values)
    return NodeHits(nodes.firsts[places], nodes.lasts[places], ranks, values, shares[kept])


def share_of_words(parents: NodeScores, wanted: NDArray[np.bool_] | None, scores: Scores) -> float:
    """How many of the question's words the best parent has: ``LexicalMatches.words_found``."""
    import numpy as np

    among = parents.scores if wanted is None else np.where(wanted[parents.firsts], parents.scores, 0.0)
    best, sizes = float(among.max(initial=0.0)), parents.lasts - parents.firsts + 1
    if best == 0 or scores.ideal <= 0:
        return 0.0
    of_best = int(sizes[among.argmax()])
    every = float((parents.scores * sizes).sum())  # not as a product, for which BLAS may wake threads
    mean = (every - best * of_best) / max(scores.leaves - of_best, 1)
    return max(0.0, best - mean) / scores.ideal


def leaves_with_most_evidence(
    nodes: MatchingNodes, weights: ScaleWeights, count: int, order: Callable[[NDArray[np.intp]], NDArray[np.intp]]
) -> NDArray[np.intp]:
    """The rows of the ``count`` leaves with most evidence above 0. Ties are ordered by ``order``, then by row.

    Runs of rows with the same evidence are compared, and leaves only where they are needed, which are few even in a large
    index.
    """
    import numpy as np

    edges, values = nodes.runs(weights)
    starts, lengths, values = edges[:-1], np.diff(edges), values[:-1]
    best_first = np.argsort(-values, kind="stable")
    enough = int(np.searchsorted(np.cumsum(lengths[best_first]), count))
    least = values[best_first[enough]] if enough < len(values) else 0.0
    better = values > max(least, 0.0)
    rows = _rows(starts[better], lengths[better])
    if least <= 0:
        return rows
    tied = _rows(starts[values == least], lengths[values == least])
    return np.concatenate([rows, tied[order(tied).argsort(kind="stable")[: count - len(rows)]]])


def _rows(starts: NDArray[np.intp], lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """All rows of these runs, given by their first rows and lengths."""
    import numpy as np

    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
