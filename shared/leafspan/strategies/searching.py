"""Searching among leaves, or among leaves and summaries as if they were of one kind: the collapsed tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from leafspan.requests import Asking, Match, Matched, Nearest
from leafspan.strategies.narrowed import Narrowed
from leafspan.strategies.strategy import Strategy
from leafspan.values import Hit


def searching(
    near: Nearest | None, match: Match | None, *, summaries: bool
) -> Asking[tuple[list[list[Hit]], list[Matched]]]:
    """The answers to both searches at once; with ``summaries`` to both among these as well.

    Then each list holds as many leaves and as many summaries as are asked for, together best first; ``ideal`` is a leaf's.
    """
    requests = tuple(request for request in (near, match) if request is not None)
    more = tuple(replace(request, summaries=True) for request in requests) if summaries else ()
    answers: Iterator[Any] = iter((yield (*requests, *more)))
    hits: list[list[Hit]] = next(answers) if near is not None else []
    matched: list[Matched] = next(answers) if match is not None else []
    if summaries and near is not None:
        hits = [_merged(row, others) for row, others in zip(hits, next(answers), strict=True)]
    if summaries and match is not None:
        matched = [
            Matched(_merged(row.hits, others.hits), row.ideal) for row, others in zip(matched, next(answers), strict=True)
        ]
    return hits, matched


def with_summaries(strategy: Strategy) -> Strategy | None:
    """The strategy as one that searches summaries, too; None where it cannot."""
    if isinstance(strategy, Narrowed):
        base = with_summaries(strategy.base)
        return None if base is None else replace(strategy, base=base)
    return replace(strategy, summaries=True) if hasattr(strategy, "summaries") else None  # type: ignore[type-var]


def _merged(hits: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    return sorted([*hits, *others], key=lambda hit: hit.order)
