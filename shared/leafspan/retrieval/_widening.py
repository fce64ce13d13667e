"""Looking at more candidates, until a result is as long as it may be or nothing more is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from leafspan.engine import Flow
from leafspan.strategies import RetrievalContext
from leafspan.values import Candidate, Passage, Query

_WIDER = 4


@dataclass(frozen=True, slots=True)
class Result:
    """What one look found for a query.

    Attributes:
        found: What the strategy found.
        passages: What is returned of it.
        more: Whether there is room for more, and more candidates may give more.
        too_low: What the strategy found besides, with a score below the lowest one of the call.
    """

    found: Sequence[Candidate]
    passages: list[Passage]
    more: bool
    too_low: Sequence[Candidate]

    def has_more_than(self, other: Result) -> bool:
        """Whether it has leaves or summaries that the other does not have."""
        known = {id_ for each in other.found for id_ in each.span.leaf_ids}
        return any(id_ not in known for each in self.found for id_ in each.span.leaf_ids)


def look_until_full(
    look: Callable[[Sequence[Query], RetrievalContext], Flow[list[Result]]],
    queries: Sequence[Query],
    context: RetrievalContext,
) -> Flow[list[Result]]:
    """The result for each query, with four times as many candidates as long as a result is short and grows by it.

    Each query is looked at on its own account, so that the others do not change its result.

    Args:
        look: What is found for queries in a context.
        queries: The queries.
        context: The first context. If it says exactly how many candidates to look at, or how many results are wanted
            without a budget, there is one look.
    """
    results = yield from look(queries, context)
    short = [number for number, result in enumerate(results) if result.more]
    while short and not context.exactly and (context.k is None or context.words is not None):
        context = replace(context, candidates=_WIDER * context.candidates)
        wider = yield from look([queries[number] for number in short], context)
        grown = [
            (number, result) for number, result in zip(short, wider, strict=True) if result.has_more_than(results[number])
        ]
        for number, result in grown:
            results[number] = result
        short = [number for number, result in grown if result.more]
    return results
