"""A strategy for some of the documents only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters import Where, to_filter
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._requests import StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True)
class Filtered(OverBase):
    """What ``base`` finds among the documents that match ``where``, and the filter of the call if there is one.

    An adapter's retriever becomes one of these where it is the base of another retriever over the same index.

    Args:
        base: The strategy.
        where: The filter, made with ``F``.

    Raises:
        InvalidArgument: if ``base`` is no strategy, or ``where`` no filter.
    """

    base: Strategy
    where: Where

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        if not isinstance(self.where, Where):
            raise InvalidArgument(f"where must be a filter made with F, got {shown(self.where)}")

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        where = self.where if context.where is None else context.where & self.where
        rows = yield from self.base.retrieve(queries, replace(context, where=where))
        matched = Trace(filters=(self.where,))
        return [[replace(found, trace=found.trace + matched) for found in row] for row in rows]


def filtered(strategy: Strategy, where: object) -> Strategy:
    """The strategy for the documents that match a filter in any dialect; unchanged if ``where`` is None.

    Raises:
        InvalidArgument: if ``where`` is no filter.
    """
    condition = to_filter(where)
    return strategy if condition is None else Filtered(strategy, condition)
