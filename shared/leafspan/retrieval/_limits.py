"""How much a retrieval looks at and returns, and what a call that says nothing else is answered by."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

from leafspan.checks import check_number, check_whole, shown, with_option_names
from leafspan.engines import MOST_RESULTS
from leafspan.errors import InvalidArgument
from leafspan.filters import Where, to_filter
from leafspan.spans import Budget, few_of_each
from leafspan.strategies import DEFAULT, RetrievalContext, Strategy, to_strategy
from leafspan.values import Candidate

DEFAULT_K = 5
"""Most passages where nothing limits them."""
_LEAST_CANDIDATES = 24
_CANDIDATES_A_PASSAGE = 4
_WORDS_A_LEAF = 30  # as the default splitter makes them; if leaves are shorter, more are looked at afterwards


def check_timeout(timeout: float | None, name: str = "timeout") -> None:
    """Check the timeout of a retrieval, an option that is called ``name``.

    Raises:
        InvalidArgument: if it is neither None nor a number of seconds > 0.
    """
    if timeout is not None:
        check_number(name, timeout, above=0, unit="seconds")


class CallOptions(TypedDict, total=False):
    """The options of a call of ``retrieve``, which says what they mean."""

    k: int | None
    candidates: int | None
    budget: int | Budget | None
    where: object
    min_score: float | None
    per_document: int | None
    timeout: float | None


takes_call_options = partial(with_option_names, more=tuple(CallOptions.__annotations__))
"""A decorator for what takes ``CallOptions``: an error of ours names an option that is unknown."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call: see ``Index.retrieve``.

    Attributes:
        k: Most passages, None if it was not given.
        candidates: Leaves to look at, None if it was not given.
        budget: Most words or tokens, None if it was not given.
        where: Filter on the documents, None for all.
        min_score: Lowest score of a passage, None for any.
        per_document: Most passages of one document, None for any number.
        private: Whether a private view is asked. Default: False.
    """

    k: int | None
    candidates: int | None
    budget: Budget | None
    where: Where | None
    min_score: float | None = None
    per_document: int | None = None
    private: bool = False

    @classmethod
    def of(
        cls,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
        min_score: float | None = None,
        per_document: int | None = None,
    ) -> Limits:
        """The limits that a user gave.

        Raises:
            InvalidArgument: if one is out of its range.
        """
        if k is not None:
            k = check_whole("k", k, 1)
        if candidates is not None:
            candidates = check_whole("candidates", candidates, 1)
            if candidates > MOST_RESULTS:
                raise InvalidArgument(f"candidates must be <= {MOST_RESULTS}, got {shown(candidates)}")
        if budget is not None and not isinstance(budget, Budget):
            budget = Budget(budget)
        if min_score is not None:
            check_number("min_score", min_score)
        if per_document is not None:
            per_document = check_whole("per_document", per_document, 1)
        return cls(k, candidates, budget, to_filter(where), min_score, per_document)

    @property
    def given(self) -> dict[str, object]:
        """The options of the call by their names, None for those that were not given."""
        names = ("k", "candidates", "budget", "where", "min_score", "per_document")
        return {name: getattr(self, name) for name in names}

    def allow(self, found: Candidate) -> bool:
        """Whether the score of a result reaches the lowest one."""
        return self.min_score is None or found.score >= self.min_score

    def allowed(self, found: Sequence[Candidate]) -> list[Candidate]:
        """The results that reach the lowest score, without those of a document that has given its most."""
        return few_of_each(filter(self.allow, found), self.per_document)

    def context(self, strategy: Strategy, embedder: str | None) -> RetrievalContext:
        """What the strategy is told at first. ``look_until_full`` asks for more if that is not enough."""
        returns_all = self.k is None and self.budget is None and strategy.returns_all
        k = DEFAULT_K if self.k is None and self.budget is None and not returns_all else self.k
        words = self.budget.words if self.budget else None
        candidates = self.candidates or self._first_candidates(k, words)
        if self.candidates is None and (strategy.looks_once or (returns_all and not strategy.needs_query)):
            candidates = sys.maxsize  # nothing is ranked, so the first look may be at everything
        return RetrievalContext(
            candidates, self.where, k, words, embedder, exactly=self.candidates is not None, private=self.private
        )

    def _first_candidates(self, k: int | None, words: int | None) -> int:
        for_k = max(_LEAST_CANDIDATES, _CANDIDATES_A_PASSAGE * (k or 0))
        if words is None:
            return for_k
        for_words = _LEAST_CANDIDATES + words // _WORDS_A_LEAF
        return for_words if k is None else min(for_k, for_words)


@dataclass(frozen=True, slots=True)
class Defaults:
    """A strategy and limits for calls that give none: see ``Config``.

    Attributes:
        strategy: The strategy.
        k: Most passages, None if it is not limited so.
        candidates: Leaves to look at, None for as many as it takes.
        budget: Most words or tokens, None if it is not limited so.
        min_score: Lowest score of a passage, None for any.
        per_document: Most passages of one document, None for any number.
    """

    strategy: Strategy = DEFAULT
    k: int | None = None
    candidates: int | None = None
    budget: int | Budget | None = None
    min_score: float | None = None
    per_document: int | None = None

    def strategy_of(self, strategy: object) -> Strategy:
        """The strategy of a call.

        Raises:
            InvalidArgument: if it is not a strategy, nor a strategy's name or configuration.
        """
        return self.strategy if strategy is None else to_strategy("strategy", strategy)

    def limits_of(self, options: CallOptions) -> Limits:
        """The limits of a call. ``k`` and ``budget`` say one thing together, so a call that gives one has none of these.

        Raises:
            InvalidArgument: if one is out of its range.
        """
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None and name != "timeout"}
        own: dict[str, Any] = {name: getattr(self, name) for name in ("candidates", "min_score", "per_document")}
        if "k" not in given and "budget" not in given:
            own |= {"k": self.k, "budget": self.budget}
        return Limits.of(**{**own, **given})
