"""Results that reach a strategy's lowest score; where none does, the empty result says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from leafspan.strategies._requests import NoteWhyEmpty, StrategyFlow
from leafspan.values import Query

T = TypeVar("T")


def those_that_reach(
    min_score: float | None, queries: Sequence[Query], rows: Sequence[Sequence[T]], score_of: Callable[[T], float]
) -> StrategyFlow[list[list[T]]]:
    """What is found for each query, without what scores below ``min_score``.

    Args:
        min_score: Lowest score of a result. None for any.
        queries: The queries.
        rows: What is found for each.
        score_of: Function from a result to its score.
    """
    if min_score is None:
        return [list(row) for row in rows]
    kept = [[each for each in row if score_of(each) >= min_score] for row in rows]
    for query, before, after in zip(queries, rows, kept, strict=True):
        if before and not after:
            yield from note_too_low(query, min_score, max(map(score_of, before)))
    return kept


def note_too_low(query: Query, min_score: float, best: float) -> StrategyFlow[None]:
    """Note that no result reaches ``min_score``.

    Args:
        query: What was asked.
        min_score: Lowest score of a result.
        best: The score of the best one.
    """
    yield NoteWhyEmpty(query, f"no result reaches the strategy's min_score={min_score:g}, the best has {best:.3g}")
