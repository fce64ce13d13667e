"""Parent documents: search small, return large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from leafspan.parents import rise
from leafspan.requests import Asking
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.strategy import Reach, Strategy, check_base, whole
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentDocument:
    """The nodes above the hits of ``base`` at ``level``, in the order of the hits, each once; the best hit's score.

    ``level`` 1 is the parents of leaves (up to 150 words by default), 2 theirs (600); None, or more than there are, the
    whole document. ``max_parents``: at most so many.

    Raises:
        InvalidArgument: if ``base`` finds longer spans than leaves, ``level`` or ``max_parents`` is not positive.
    """

    base: Strategy = field(default_factory=Hybrid)
    level: int | None = 1
    max_parents: int | None = None

    finds_spans: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_base(self.base)
        if self.level is not None:
            whole("level", self.level, 1)
        if self.max_parents is not None:
            whole("max_parents", self.max_parents, 1)

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        results = yield from self.base.retrieve(queries, reach.below)
        return [rise(hits, level=self.level)[: self.max_parents] for hits in results]
