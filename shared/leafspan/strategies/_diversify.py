"""Reorders results so that the first ones are not all alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.strategies._requests import CallFunction, Embed, LoadVectors, StrategyFlow
from leafspan.strategies._rerankers import Rows, moved
from leafspan.strategies._searching import query_vectors
from leafspan.strategies.scoring import Chosen, maximal_marginal_relevance, min_max
from leafspan.values import Candidate, Query


def diversify(
    queries: Sequence[Query], instruction: str, rows: Rows, diversity: float, *, by_score: bool, count: int | None
) -> StrategyFlow[Rows]:
    """The results of each query by maximal marginal relevance: see ``maximal_marginal_relevance``."""
    if not any(rows):
        return rows
    of_queries = [None] * len(rows) if by_score else (yield from query_vectors(queries, instruction))
    vectors = yield from _vectors([found for row in rows for found in row])
    calls = []
    start = 0
    for row, of_query in zip(rows, of_queries, strict=True):
        own = vectors[start : start + len(row)]
        start += len(row)
        if of_query is not None and len(of_query) != own.shape[1]:
            raise InvalidArgument(f"a query's vector must have {own.shape[1]} dimensions, got {len(of_query)}")
        calls.append(CallFunction(_choose, ([found.score for found in row], of_query, own, diversity, count)))
    # Off the event loop, since the work grows with the square of the number of results.
    choices: list[list[Chosen]] = yield tuple(calls)
    return [
        [moved(row[each.place], each.score, each.place, new, _remark(each, new)) for new, each in enumerate(chosen)]
        for row, chosen in zip(rows, choices, strict=True)
    ]


def _remark(chosen: Chosen, new: int) -> str:
    return f", with a similarity of {chosen.similarity:.3f} to one before it" if new else ""


def _choose(scores: Sequence[float], of_query: Any, vectors: Any, diversity: float, count: int | None) -> list[Chosen]:
    if of_query is None:
        relevance: Any = [share for _, share in min_max(list(enumerate(scores)))]
    else:
        # No matrix product, whose rounding depends on the row: equal vectors must tie.
        relevance = (vectors * _units(of_query, len(of_query))).sum(axis=1)
    return maximal_marginal_relevance(relevance, vectors, diversity=diversity, count=count)


def _vectors(results: Sequence[Candidate]) -> StrategyFlow[Any]:
    """A vector of length 1, as a row, for each result.

    A span's vector is the mean of its leaves' vectors. A result of another source has the vector of its text. A blank text
    has a vector of zeros, which is similar to no other.
    """
    import numpy as np

    ids = tuple(dict.fromkeys(id_ for found in results if found.outside is None for id_ in found.span.leaf_ids))
    texts = tuple(dict.fromkeys(found.outside.text for found in results if found.outside and found.outside.text.strip()))
    loaded: Sequence[Any] = (yield LoadVectors(ids)) if ids else ()
    embedded: Sequence[Any] = (yield Embed(texts)) if texts else ()
    length = len(loaded[0]) if ids else len(embedded[0]) if texts else 1
    rows = np.concatenate([_units(vectors, length) for vectors in (loaded, embedded, np.zeros((1, length)))])
    of_leaf = {id_: number for number, id_ in enumerate(ids)}
    of_text = {text: number for number, text in enumerate(texts, start=len(ids))}

    def places(found: Candidate) -> list[int]:
        if found.outside is not None:
            return [of_text.get(found.outside.text, len(rows) - 1)]
        return [of_leaf[id_] for id_ in found.span.leaf_ids]

    return _units([rows[places(found)].mean(axis=0) for found in results], length)


def _units(vectors: Any, length: int) -> Any:
    """The vectors as rows of length 1; a vector of zeros stays zeros."""
    import numpy as np

    matrix = np.asarray(vectors, dtype=np.float64).reshape(-1, length)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0)
