"""A strategy of which somebody is told when it searches, and what it finds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._requests import CallFunction, LoadPassages, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, Passage, Query

_MOST_SHOWN = 20  # passages for each query: a base finds more than are returned

Begins = Callable[[list[str]], Any]
Ends = Callable[[Any, list[list[Passage]]], Any]


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told of a strategy.

    Attributes:
        begins: Function from the questions, empty for those that have no text, to what ``ends`` is told again.
        ends: Function of that and of what was found for each question: the best twenty passages.
        abegins: The coroutine function of ``begins``. None: it runs in a thread.
        aends: The coroutine function of ``ends``. None: it runs in a thread.
    """

    begins: Begins
    ends: Ends
    abegins: Callable[[list[str]], Awaitable[Any]] | None = None
    aends: Callable[[Any, list[list[Passage]]], Awaitable[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Watched(OverBase):
    """What ``base`` finds, of which ``watcher`` is told; not through a private view, which shows less than is found.

    If ``base`` fails, or has to begin again, the watcher is not told of an end.
    """

    configurable: ClassVar[bool] = False
    base: Strategy
    watcher: Watcher = field(repr=False)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        if context.private:
            return (yield from self.base.retrieve(queries, context))
        watcher = self.watcher
        begun = yield CallFunction(watcher.begins, ([query.text or "" for query in queries],), watcher.abegins)
        found = yield from self.base.retrieve(queries, context.for_base)  # the watcher is told of all
        shown: list[list[Passage]] = []
        for row in found:
            shown.append((yield LoadPassages(row[:_MOST_SHOWN])))
        yield CallFunction(watcher.ends, (begun, shown), watcher.aends)
        return found
