"""Parent documents: search small, return large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from leafspan.checks import keep_whole
from leafspan.spans import parents_of
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import check_base, retrieve_leaves
from leafspan.strategies._requests import RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentDocument(Strategy):
    """The sections around the hits of ``base``, each once, in the order of the hits, with the best hit's score.

    A section that alone exceeds the call's budget is replaced by the largest node inside it that fits, or by the hit.

    Args:
        base: Strategy that finds single leaves. Default: ``Hybrid()``.
        level: How far up the hierarchy to go, >= 1: 1 is the parents of leaves (up to 150 words with the default
            splitter), 2 is their parents (up to 600). None, or more levels than there are, is the whole document. Default:
            1.
        max_parents: Most results, >= 1. Default: any number.

    Raises:
        InvalidArgument: if ``base`` finds spans longer than leaves, or a number is out of its range.
    """

    finds_spans = True
    base: Strategy = field(default_factory=Hybrid)
    level: int | None = 1
    max_parents: int | None = None

    def __post_init__(self) -> None:
        check_base(self.base)
        keep_whole(self, "level", 1, optional=True)
        keep_whole(self, "max_parents", 1, optional=True)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        results = yield from retrieve_leaves(self.base, queries, context)
        return [parents_of(hits, level=self.level, max_words=context.words)[: self.max_parents] for hits in results]
