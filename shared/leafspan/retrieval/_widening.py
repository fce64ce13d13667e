"""Looking at more candidates, until a result is as long as it may be or nothing more is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from leafspan.flows import Flow
from leafspan.strategies import RetrievalContext
from leafspan.values import Candidate, Passage, Query

_WIDER = 4


@dataclass(frozen=True, slots=True)
class Result:
    """What one look found for a query.

    Attributes:
        found: What the strategy found.
        passages: What is returned of it.
        more: Whether to look at more candidates: there is room for more, and they may give more.
        too_low: What the strategy found besides, with a score below the lowest one of the call.
        left_out: Whether something was left out in whose place something else may come: a leaf without a word, or what
            is too much of one document. Default: False.
    """

    found: Sequence[Candidate]
    passages: list[Passage]
    more: bool
    too_low: Sequence[Candidate]
    left_out: bool = False

    def has_more_than(self, other: Result) -> bool:
        """Whether it has leaves or summaries that the other does not have."""
        known = {id_ for each in other.found for id_ in each.span.leaf_ids}
        return any(id_ not in known for each in self.found for id_ in each.span.leaf_ids)


def may_widen(context: RetrievalContext) -> bool:
    """Whether more candidates may be looked at, unless the call says exactly how many, or how many results it wants."""
    return not context.exactly and (context.k is None or context.words is not None)


def look_until_full(
    look: Callable[[Sequence[Query], RetrievalContext], Flow[list[Result]]],
    queries: Sequence[Query],
    context: RetrievalContext,
) -> Flow[list[Result]]:
    """The result for each query, with four times as many candidates as long as a result is short and grows by it.

    Each query is looked at on its own account, so that the others do not change its result.
    """
    results = yield from look(queries, context)
    short = [number for number, result in enumerate(results) if result.more]
    while short:
        k = None if any(results[number].left_out for number in short) else context.k  # the strategy is to give more than k
        context = replace(context, candidates=_WIDER * context.candidates, k=k)
        wider = yield from look([queries[number] for number in short], context)
        grown = [
            (number, result) for number, result in zip(short, wider, strict=True) if result.has_more_than(results[number])
        ]
        for number, result in grown:
            results[number] = result
        short = [number for number, result in grown if result.more]
    return results
