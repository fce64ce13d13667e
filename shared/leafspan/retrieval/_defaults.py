"""What a call of ``retrieve`` that says nothing else is answered by."""

from __future__ import annotations

from dataclasses import dataclass

from leafspan.retrieval._limits import Limits
from leafspan.spans import Budget
from leafspan.strategies import DEFAULT, Strategy, to_strategy


@dataclass(frozen=True, slots=True)
class Defaults:
    """A strategy and limits for calls that give none: see ``Config``.

    Attributes:
        strategy: The strategy.
        k: Most passages, None if it is not limited so.
        candidates: Leaves to look at, None for as many as it takes.
        budget: Most words or tokens, None if it is not limited so.
        min_score: Lowest score of a passage, None for any.
    """

    strategy: Strategy = DEFAULT
    k: int | None = None
    candidates: int | None = None
    budget: int | Budget | None = None
    min_score: float | None = None

    def strategy_of(self, strategy: object) -> Strategy:
        """The strategy of a call.

        Raises:
            InvalidArgument: if it is none, nor the name or the configuration of one.
        """
        return self.strategy if strategy is None else to_strategy("strategy", strategy)

    def limits_of(
        self,
        k: int | None,
        candidates: int | None,
        budget: int | Budget | None,
        where: object,
        min_score: float | None,
    ) -> Limits:
        """The limits of a call. ``k`` and ``budget`` say one thing together, so a call that gives one has none of these.

        Raises:
            InvalidArgument: if one is out of its range.
        """
        if k is None and budget is None:
            k, budget = self.k, self.budget
        candidates = self.candidates if candidates is None else candidates
        return Limits.of(k, candidates, budget, where, self.min_score if min_score is None else min_score)
