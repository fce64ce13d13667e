"""A strategy for results of a certain score only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from leafspan.checks import check_number
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._reaching import those_that_reach
from leafspan.strategies._requests import StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True)
class AtLeast(OverBase):
    """What ``base`` finds with a score of at least ``min_score``: the call option ``min_score``, for every strategy.

    Args:
        base: The strategy.
        min_score: Lowest score of a result. What a score means is in docs/scores.md.

    Raises:
        InvalidArgument: if ``base`` is no strategy, or ``min_score`` no finite number.
    """

    base: Strategy
    min_score: float

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        check_number("min_score", self.min_score)

    @property
    def returns_all(self) -> bool:
        """All that reach the score are returned."""
        return True

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        results = yield from self.base.retrieve(queries, context)
        return (yield from those_that_reach(self.min_score, queries, results, attrgetter("score")))


def at_least(strategy: Strategy, min_score: float | None) -> Strategy:
    """The strategy for results of at least this score; unchanged if it is None."""
    return strategy if min_score is None else AtLeast(strategy, min_score)
