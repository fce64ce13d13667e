"""Auto-merging: hits that stand close together become the text they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from leafspan.errors import InvalidArgument
from leafspan.merging import SCORES, auto_merge
from leafspan.requests import Asking
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.strategy import Reach, Strategy, check_base, check_choice, whole
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoMerging:
    """The hits of ``base``, merged into their parent wherever strictly more than ``threshold`` of its children are there.

    Level by level, up to ``max_level`` (None: the document) and to nodes of at most ``max_words`` (None: any). Before
    merging, gaps of at most ``fill_gaps`` leaves between two hits of one parent are filled. ``score`` of a merged node:
    ``"mean"`` of its children's, or ``"max"``.

    Raises:
        InvalidArgument: if ``base`` finds longer spans than leaves, ``threshold`` is not in [0, 1] (at 0 every hit becomes
            the largest node there may be, at 1 nothing merges), ``fill_gaps`` is negative, ``max_level`` or ``max_words``
            not positive, or ``score`` unknown.
    """

    base: Strategy = field(default_factory=Hybrid)
    threshold: float = 0.5
    fill_gaps: int = 1
    max_level: int | None = None
    max_words: int | None = 400
    score: Literal["mean", "max"] = "max"

    finds_spans: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_base(self.base)
        if not isinstance(self.threshold, int | float) or not 0 <= self.threshold <= 1:
            raise InvalidArgument(f"threshold must be in [0, 1], got {self.threshold!r}")
        whole("fill_gaps", self.fill_gaps, 0)
        if self.max_level is not None:
            whole("max_level", self.max_level, 1)
        if self.max_words is not None:
            whole("max_words", self.max_words, 1)
        check_choice("score", self.score, SCORES)

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        results = yield from self.base.retrieve(queries, reach.below)
        return [
            auto_merge(
                hits,
                threshold=self.threshold,
                fill_gaps=self.fill_gaps,
                max_level=self.max_level,
                max_words=self.max_words,
                score=self.score,
            )
            for hits in results
        ]
