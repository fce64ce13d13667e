"""Reordering results so that those in front are not all alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafspan.scoring import Chosen, maximal_marginal_relevance, min_max
from leafspan.strategies._requests import CallFunction, Embed, LoadVectors, StrategyFlow
from leafspan.strategies._rerank_by_scores import Rows, moved
from leafspan.values import Candidate


def diversify(rows: Rows, diversity: float, count: int | None) -> StrategyFlow[Rows]:
    """The results of each query by maximal marginal relevance: see ``maximal_marginal_relevance``.

    Args:
        rows: What was found for each query.
        diversity: Weight of being unlike what stands before, in (0, 1).
        count: Most results for each query. None for all.
    """
    if not any(rows):
        return rows
    vectors = yield from _vectors([found for row in rows for found in row])
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    # Off the event loop, since the work grows with the square of the number of results.
    choices: list[list[Chosen]] = yield tuple(
        CallFunction(_choose, ([found.score for found in row], vectors[start : start + len(row)], diversity, count))
        for row, start in zip(rows, ends, strict=False)
    )
    return [
        [
            moved(row[each.place], each.score, each.place, new, f" (similarity {each.similarity:.3f} to one before it)")
            for new, each in enumerate(chosen)
        ]
        for row, chosen in zip(rows, choices, strict=True)
    ]


def _choose(scores: Sequence[float], vectors: Any, diversity: float, count: int | None) -> list[Chosen]:
    relevance = [share for _, share in min_max(list(enumerate(scores)))]
    return maximal_marginal_relevance(relevance, vectors, diversity=diversity, count=count)


def _vectors(results: Sequence[Candidate]) -> StrategyFlow[Any]:
    """A vector, as a row, for each result: of a span the mean of its leaves', of another source that of the text.

    What has a blank text has a vector of zeros, which is like nothing.
    """
    import numpy as np

    ids = tuple(dict.fromkeys(id_ for found in results if found.outside is None for id_ in found.span.leaf_ids))
    texts = tuple(dict.fromkeys(found.outside.text for found in results if found.outside and found.outside.text.strip()))
    loaded = (yield LoadVectors(ids)) if ids else ()
    embedded = (yield Embed(texts)) if texts else ()
    of_leaf = {id_: _unit(vector) for id_, vector in zip(ids, loaded, strict=True)}
    of_text = {text: np.asarray(vector) for text, vector in zip(texts, embedded, strict=True)}
    length = max((len(vector) for vector in (*of_leaf.values(), *of_text.values())), default=1)
    rows = [
        np.mean([of_leaf[id_] for id_ in found.span.leaf_ids], axis=0)
        if found.outside is None
        else of_text.get(found.outside.text, np.zeros(length))
        for found in results
    ]
    return np.asarray(rows, dtype=np.float64)


def _unit(vector: Any) -> Any:
    import numpy as np

    length = np.linalg.norm(vector)
    return np.asarray(vector) / length if length > 0 else np.asarray(vector)
