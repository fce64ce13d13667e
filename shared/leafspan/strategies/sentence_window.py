"""Sentence windows: each hit with what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from leafspan.requests import Asking
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.strategy import Reach, Strategy, check_base, whole
from leafspan.values import Found, Query
from leafspan.windows import widen


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceWindow:
    """The hits of ``base`` with ``before`` leaves before and ``after`` leaves after each, within its document.

    Windows that touch or overlap become one passage, with the best score among its hits. A leaf has one to a few
    sentences.

    Raises:
        InvalidArgument: if ``base`` finds longer spans than leaves, ``before`` or ``after`` is negative.
    """

    base: Strategy = field(default_factory=Hybrid)
    before: int = 0
    after: int = 1

    finds_spans: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_base(self.base)
        whole("before", self.before, 0)
        whole("after", self.after, 0)

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        results = yield from self.base.retrieve(queries, reach.below)
        return [widen(hits, before=self.before, after=self.after) for hits in results]
