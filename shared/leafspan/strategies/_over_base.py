"""Strategies over a base: its leaves, or its results that match a filter, reach a score, or are reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from operator import attrgetter
from typing import Any, ClassVar, Self

from leafspan.checks import check_number, shown
from leafspan.errors import InvalidArgument, LeafspanError, NotALeaf
from leafspan.filters import Where, checked_moment, to_filter, valid_documents
from leafspan.strategies._fuse import is_nameless
from leafspan.strategies._other_sources import HostRetriever
from leafspan.strategies._queries import those_that_reach
from leafspan.strategies._requests import CallFunction, LoadPassages, RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Passage, Query


class OverBase(Strategy):
    """A strategy over a ``base``, with results of the same kind. Subclasses are dataclasses."""

    __slots__ = ()

    base: Strategy

    @property
    def finds_spans(self) -> bool:
        return self.base.finds_spans

    @property
    def needs_query(self) -> bool:
        return self.base.needs_query

    @property
    def returns_all(self) -> bool:
        return self.base.returns_all

    @property
    def looks_once(self) -> bool:
        return self.base.looks_once

    @property
    def query_instruction(self) -> str:
        return self.base.query_instruction

    def with_summaries(self) -> Self | None:
        base = self.base.with_summaries()
        changed: Any = self
        return None if base is None else replace(changed, base=base)


@dataclass(frozen=True, slots=True)
class Filtered(OverBase):
    """What ``base`` finds among the documents that match ``where`` and the call's filter.

    An adapter's retriever becomes a ``Filtered`` when another retriever over the same index uses it as base.

    Args:
        base: The strategy.
        where: The filter, made with ``F``. Default: None, if there is ``as_of``.
        as_of: Moment at which documents must be valid, as for ``Index.retrieve``. Default: None.

    Raises:
        InvalidArgument: if ``base`` is not a strategy, or ``where`` not a filter.
    """

    base: Strategy
    where: Where | None = None
    as_of: date | str | None = None

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        if self.as_of is not None:
            object.__setattr__(self, "as_of", checked_moment("as_of", self.as_of, now=True))
        if not isinstance(self.where, Where) and (self.where is not None or self.as_of is None):
            raise InvalidArgument(f"where must be a filter made with F, got {shown(self.where)}")

    @property
    def filter(self) -> Where:
        """Both options as one filter. ``"now"`` is the moment of this call."""
        return valid_documents(self.where, self.as_of)  # type: ignore[arg-type,return-value]

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        own = self.filter
        where = own if context.where is None else context.where & own
        rows = yield from self.base.retrieve(queries, replace(context, where=where))
        matched = Trace(filters=(own,))
        return [[replace(candidate, trace=candidate.trace + matched) for candidate in row] for row in rows]


def filtered(strategy: Strategy, where: object, as_of: date | str | None = None) -> Strategy:
    """The strategy for the documents that match a filter in any dialect, or the strategy itself without a filter.

    Raises:
        InvalidArgument: if ``where`` is not a filter.
    """
    condition = to_filter(where)
    return strategy if condition is None and as_of is None else Filtered(strategy, condition, as_of)


@dataclass(frozen=True, slots=True)
class AtLeast(OverBase):
    """What ``base`` finds with a score of at least ``min_score``: the call option ``min_score``, for every strategy.

    Args:
        base: The strategy.
        min_score: Lowest score of a result. What a score means is in docs/scores.md.

    Raises:
        InvalidArgument: if ``base`` is not a strategy, or ``min_score`` not a finite number.
    """

    returns_all = True
    base: Strategy
    min_score: float

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        check_number("min_score", self.min_score)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        results = yield from self.base.retrieve(queries, context)
        return (yield from those_that_reach(self.min_score, queries, results, attrgetter("score")))


def at_least(strategy: Strategy, min_score: float | None) -> Strategy:
    """The strategy for results of at least this score, or the strategy itself if ``min_score`` is None."""
    return strategy if min_score is None else AtLeast(strategy, min_score)


_MOST_SHOWN = 20  # passages for each query that a watcher gets: a base finds more than the call returns

Begins = Callable[[list[str]], Any]
Ends = Callable[[Any, list[list[Passage]]], Any]


@dataclass(frozen=True, slots=True)
class Watcher:
    """Functions that leafspan calls before and after a strategy.

    Attributes:
        begins: Function from the questions ("" for a vector) to a value that ``ends`` gets again.
        ends: Function of that value and the passages found for each question, at most twenty.
        abegins: The coroutine function of ``begins``. None: ``begins`` runs in a thread.
        aends: The coroutine function of ``ends``. None: ``ends`` runs in a thread.
    """

    begins: Begins
    ends: Ends
    abegins: Callable[[list[str]], Awaitable[Any]] | None = None
    aends: Callable[[Any, list[list[Passage]]], Awaitable[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Watched(OverBase):
    """What ``base`` finds, reported to ``watcher``. A private view reports nothing: it shows less than ``base`` finds.

    If ``base`` fails or starts again, leafspan does not call ``ends``.
    """

    configurable: ClassVar[bool] = False
    base: Strategy
    watcher: Watcher = field(repr=False)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        if context.private:
            return (yield from self.base.retrieve(queries, context))
        watcher = self.watcher
        begun = yield CallFunction(watcher.begins, ([query.text or "" for query in queries],), watcher.abegins)
        rows = yield from self.base.retrieve(queries, context.for_base)  # the watcher gets all results
        shown: list[list[Passage]] = []
        for row in rows:
            shown.append((yield LoadPassages(row[:_MOST_SHOWN])))
        yield CallFunction(watcher.ends, (begun, shown), watcher.aends)
        return rows


HOW_TO_FIND_LEAVES = "from leaf_documents(index) of langchain_ext or leaf_nodes(index) of llamaindex_ext"


def check_base(base: object) -> None:
    """Check that an option is a strategy that finds single leaves, which can be merged or widened.

    Raises:
        InvalidArgument: if it is not.
    """
    check_strategy("base", base)
    assert isinstance(base, Strategy)
    if base.finds_spans:
        raise InvalidArgument(f"base must be a strategy that finds single leaves, such as Hybrid(), got {shown(base)}")


def retrieve_leaves(
    base: Strategy, queries: Sequence[Query], context: RetrievalContext, *, most: int | None = None
) -> StrategyFlow[list[list[Candidate]]]:
    """The leaves that a base finds for each query, for a strategy that merges or widens them.

    Args:
        base: The base.
        queries: The queries.
        context: The context of the strategy.
        most: How many of the best leaves the strategy needs. Default: None, all.

    Raises:
        NotALeaf: if a result comes from another source than the index.
        InvalidArgument: if a candidate of the base is not a single leaf for another reason.
    """
    results = yield from base.retrieve(queries, replace(context, k=most))
    for row in results:
        for number, candidate in enumerate(row, start=1):
            if candidate.leaf is None:
                raise _refusal(base, number, candidate)
    return results


def _refusal(base: Strategy, number: int, candidate: Candidate) -> LeafspanError:
    name = candidate.trace.hits[0].source if candidate.trace.hits else type(base).__name__
    remedy = f"build that retriever {HOW_TO_FIND_LEAVES}"
    if candidate.outside is not None and is_nameless(candidate.outside):
        what = f"no id, text {candidate.outside.text[:60]!r}"
        remedy = f"leafspan knows leaves by id, so take a retriever that keeps ids, and build it {HOW_TO_FIND_LEAVES}"
    elif candidate.outside is not None:
        what = f"id {candidate.outside.id!r}, text {candidate.outside.text[:60]!r}"
    elif isinstance(base, HostRetriever):
        what = f"the span {candidate.span.id!r}"
    else:
        return InvalidArgument(
            f"the base {type(base).__name__} must find single leaves, got the span {candidate.span.id!r}: keep the `leaf` "
            "of each candidate, or override finds_spans so that it is refused as a base"
        )
    return NotALeaf(f"the results of {name} must be leaves of this index, but number {number} is not: {what}; {remedy}")
