"""Strategies that return the parents of leaves: always, or where enough of their children were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from leafspan.checks import check_choice, check_number, keep_whole
from leafspan.spans import SCORES, auto_merge, parents_of
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import check_base, retrieve_leaves
from leafspan.strategies._requests import RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoMerging(Strategy):
    """The hits of ``base``, merged into their parent wherever enough of its children were found.

    Merging goes level by level. Before it, gaps of at most ``fill_gaps`` leaves between two hits of one parent are filled.

    Args:
        base: Strategy that finds single leaves. Default: ``Hybrid()``.
        threshold: Share of a parent's children, in [0, 1]: more than this share must be hits to merge. At 0 every hit
            becomes the largest allowed node, at 1 nothing merges. Default: 0.5.
        fill_gaps: Longest gap to fill, in leaves, >= 0. Default: 1.
        max_level: Highest level to merge into, >= 1 (the parents of leaves). Default: None, the whole document.
        max_words: Longest node to merge into, in words, >= 1; never longer than the call's budget. Default: 400. None: any.
        score: Score of a merged node: ``"max"`` or ``"mean"`` of its children's. Default: ``"max"``.

    Raises:
        InvalidArgument: if ``base`` finds spans longer than leaves, or an option is out of its range.

    Ties are ordered by document id, then position.
    """

    finds_spans = True
    base: Strategy = field(default_factory=Hybrid)
    threshold: float = 0.5
    fill_gaps: int = 1
    max_level: int | None = None
    max_words: int | None = 400
    score: Literal["mean", "max"] = "max"

    def __post_init__(self) -> None:
        check_base(self.base)
        check_number("threshold", self.threshold, at_least=0, at_most=1)
        keep_whole(self, "fill_gaps", 0)
        keep_whole(self, "max_level", 1, optional=True)
        keep_whole(self, "max_words", 1, optional=True)
        check_choice("score", self.score, SCORES)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        results = yield from retrieve_leaves(self.base, queries, context)
        return [
            auto_merge(
                hits,
                threshold=self.threshold,
                fill_gaps=self.fill_gaps,
                max_level=self.max_level,
                max_words=context.longest(self.max_words),
                score=self.score,
                traced=context.k,
            )
            for hits in results
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentDocument(Strategy):
    """The sections around the hits of ``base``, each once, in the order of the hits, with the best hit's score.

    A section that alone exceeds the call's budget is replaced by the largest node inside it that fits, or by the hit.

    Args:
        base: Strategy that finds single leaves. Default: ``Hybrid()``.
        level: How far up the hierarchy to go, >= 1: 1 is the parents of leaves (up to 150 words with the default splitter),
            2 is their parents (up to 600). None, or more levels than there are, is the whole document. Default: 1.
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
