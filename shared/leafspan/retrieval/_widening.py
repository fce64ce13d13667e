"""Reads more candidates until a result is full or does not grow any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from leafspan.flows import Flow
from leafspan.strategies import RetrievalContext
from leafspan.values import Candidate, Passage, Query

_WIDER = 4


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one look for a query."""

    found: Sequence[Candidate]  # the strategy's results
    passages: list[Passage]
    more: bool  # whether to read more candidates: there is room for more results, and more candidates may give some
    too_low: Sequence[Candidate]  # the strategy's results below the call's lowest score
    left_out: bool = False

    def has_more_than(self, other: Result) -> bool:
        """Whether this result has leaves or summaries that the other one does not have."""
        known = {id_ for each in other.found for id_ in each.span.leaf_ids}
        return any(id_ not in known for each in self.found for id_ in each.span.leaf_ids)


def may_widen(context: RetrievalContext) -> bool:
    """Whether more candidates may be read. They may not if the call sets their number, or only the number of results."""
    return not context.exactly and (context.k is None or context.words is not None)


def look_until_full(
    look: Callable[[Sequence[Query], RetrievalContext], Flow[list[Result]]],
    queries: Sequence[Query],
    context: RetrievalContext,
) -> Flow[list[Result]]:
    """The result for each query. While a result is not full and grows, four times as many candidates are read.

    Each query is widened independently, so that other queries do not change its result.
    """
    results = yield from look(queries, context)
    short = [number for number, result in enumerate(results) if result.more]
    while short:
        k = None if any(results[number].left_out for number in short) else context.k  # the strategy must give more than k
        context = replace(context, candidates=_WIDER * context.candidates, k=k)
        wider = yield from look([queries[number] for number in short], context)
        grown = [
            (number, result) for number, result in zip(short, wider, strict=True) if result.has_more_than(results[number])
        ]
        for number, result in grown:
            results[number] = result
        short = [number for number, result in grown if result.more]
    return results
