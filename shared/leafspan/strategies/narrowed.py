"""A strategy for some of the documents only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leafspan.errors import InvalidArgument
from leafspan.filters import Where, to_filter
from leafspan.requests import Asking
from leafspan.strategies.strategy import Reach, Strategy, check_strategy
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What ``base`` finds among the documents that match ``where``, and the filter of the call where there is one.

    It is what an adapter's retriever over an index becomes as a base or leg of another one over the same index.

    Raises:
        InvalidArgument: if ``base`` is no strategy.
    """

    base: Strategy
    where: Where

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        if not isinstance(self.where, Where):
            raise InvalidArgument(f"where must be a filter made with F, got {self.where!r}")

    @property
    def finds_spans(self) -> bool:
        """Whether the base finds longer runs than leaves."""
        return bool(getattr(self.base, "finds_spans", False))

    @property
    def needs_query(self) -> bool:
        """Whether the base does."""
        return bool(getattr(self.base, "needs_query", True))

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        where = self.where if reach.where is None else reach.where & self.where
        return (yield from self.base.retrieve(queries, replace(reach, where=where)))


def narrowed(strategy: Strategy, where: object) -> Strategy:
    """The strategy for the documents that match a filter in any dialect; as it is where there is none.

    Raises:
        InvalidArgument: if ``where`` is no filter.
    """
    condition = to_filter(where)
    return strategy if condition is None else Narrowed(strategy, condition)
