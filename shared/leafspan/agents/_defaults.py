"""How much the tools search and return unless a model sets limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from leafspan.checks import check_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.retrieval import Limits
from leafspan.view import View

MOST_PASSAGES = 25
"""Most passages that a call can ask for, and that it gets."""

LEAST_BUDGET = 20
"""Fewest words that a call can ask for."""

_USUAL_BUDGET = 600


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The limits of a tool's call that sets no others.

    Attributes:
        words: Most words of a result.
        k: Most passages, None for as many as fit into the words.
        candidates: Leaves to look at, None for the view's default. A call cannot change it.
        min_score: Lowest score of a passage, None for the view's default. A call cannot change it.
        per_document: Most passages of one document, None for the view's default. A call cannot change it.
    """

    words: int
    k: int | None
    candidates: int | None
    min_score: float | None
    per_document: int | None

    @classmethod
    def of(cls, view: View, k: int | None, budget: int | None, max_budget: int, asked: Limits | None = None) -> Self:
        """The given limits, or else a retriever's limits, or else the limits in the view's configuration.

        ``k`` and ``budget`` belong together, so both come from the same one of the three.

        Raises:
            InvalidArgument: if a given limit is out of its range.
        """
        max_budget = check_whole("max_budget", max_budget, LEAST_BUDGET)
        if k is not None:
            k = check_whole("k", k, 1)
            if k > MOST_PASSAGES:
                raise InvalidArgument(f"k must be at most {MOST_PASSAGES}, got {shown(k)}: a tool shows no more passages")
        if budget is not None:
            budget = check_whole("budget", budget, LEAST_BUDGET)
            if budget > max_budget:
                raise InvalidArgument(f"budget must be at most max_budget, {max_budget}, got {budget}")
        asked = view.default_limits if asked is None else asked
        for limits in (asked, view.default_limits):
            if k is None and budget is None:
                k = None if limits.k is None else min(limits.k, MOST_PASSAGES)
                budget = None if limits.budget is None else max(LEAST_BUDGET, limits.budget.words)
        words = min(_USUAL_BUDGET if budget is None else budget, max_budget)
        return cls(words, k, asked.candidates, asked.min_score, asked.per_document)
