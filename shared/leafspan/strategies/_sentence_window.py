"""Sentence windows: each hit with its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from leafspan.checks import check_whole
from leafspan.spans import windows_around
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._requests import StrategyFlow
from leafspan.strategies._strategy import Strategy, check_base, retrieve_leaves
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceWindow(Strategy):
    """The hits of ``base``, each with the leaves before and after it in its document.

    Windows that touch or overlap become one passage, with the best score among their hits. A leaf has one to a few
    sentences.

    Args:
        base: Strategy that finds single leaves. Default: ``Hybrid()``.
        before: Number of leaves before each hit, >= 0. Default: 0.
        after: Number of leaves after each hit, >= 0. Default: 1.

    Raises:
        InvalidArgument: if ``base`` finds spans longer than leaves, or a number is out of its range.

    Ties go by document id, then position.
    """

    base: Strategy = field(default_factory=Hybrid)
    before: int = 0
    after: int = 1

    def __post_init__(self) -> None:
        check_base(self.base)
        check_whole("before", self.before, 0)
        check_whole("after", self.after, 0)

    @property
    def finds_spans(self) -> bool:
        """It returns windows."""
        return True

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        results = yield from retrieve_leaves(self.base, queries, context)
        return [windows_around(hits, before=self.before, after=self.after) for hits in results]
