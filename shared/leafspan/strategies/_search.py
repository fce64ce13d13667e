"""Searching among leaves, or among leaves and summaries together: the collapsed tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from leafspan.strategies._requests import LexicalMatches, LexicalSearch, StrategyFlow, VectorSearch
from leafspan.values import Hit


def search(
    vectors: VectorSearch | None, words: LexicalSearch | None, *, summaries: bool
) -> StrategyFlow[tuple[list[list[Hit]], list[LexicalMatches]]]:
    """The answers to a vector search and a lexical search, which run at the same time.

    With ``summaries`` both also run among the summaries of the trees. Each list then holds as many leaves and as many
    summaries as were asked for, together best first; ``ideal`` is that of the leaves.
    """
    requests = tuple(request for request in (vectors, words) if request is not None)
    more = tuple(replace(request, summaries=True) for request in requests) if summaries else ()
    answers: Iterator[Any] = iter((yield (*requests, *more)))
    hits: list[list[Hit]] = next(answers) if vectors is not None else []
    matches: list[LexicalMatches] = next(answers) if words is not None else []
    if summaries and vectors is not None:
        hits = [_merged(row, others) for row, others in zip(hits, next(answers), strict=True)]
    if summaries and words is not None:
        matches = [
            replace(row, hits=_merged(row.hits, others.hits)) for row, others in zip(matches, next(answers), strict=True)
        ]
    return hits, matches


def _merged(hits: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    return sorted([*hits, *others], key=lambda hit: hit.order)
