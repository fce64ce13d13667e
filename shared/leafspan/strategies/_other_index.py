"""Another index, as a strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.spans import Budget, citation
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._requests import AskHost, CallFunction, HostResult, StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Passage, Query, outside_candidate

_MOST = 10_000  # most results of a search
_NOTE = "found in another index"
_BLANK = Query(text="")


class Searchable(Protocol):
    """An index or a view of one."""

    def retrieve_many(
        self, queries: Any, strategy: Any, *, k: Any, candidates: Any, budget: Any, where: Any, per_document: Any
    ) -> Any:
        """The passages for each query."""
        ...

    async def aretrieve_many(
        self, queries: Any, strategy: Any, *, k: Any, candidates: Any, budget: Any, where: Any, per_document: Any
    ) -> Any:
        """Like ``retrieve``."""
        ...


@dataclass(frozen=True, slots=True)
class OtherIndex(Strategy):
    """A strategy over another index. ``View.as_strategy`` makes these.

    Its results are passages of another source: no other strategy can merge or widen them.

    Args:
        view: The other index, or a view of it.
        strategy: The strategy to run there.
        k: Most passages from it, >= 1. Default: as many as the call asks for.
        candidates: Leaves to look at there, in [1, 10000]. Default: as many as the results need.
        budget: Most words or tokens from it. Default: any number.
        where: Filter on its documents, in addition to the call's filter. Default: all documents.
        per_document: Most passages of one of its documents, >= 1. Default: any number.

    Raises:
        InvalidArgument: if ``view`` is not an index or view, or ``strategy`` is not a strategy.
    """

    configurable: ClassVar[bool] = False
    view: Searchable
    strategy: Strategy
    k: int | None = None
    candidates: int | None = None
    budget: Budget | None = None
    where: Where | None = None
    per_document: int | None = None

    def __post_init__(self) -> None:
        if not callable(getattr(self.view, "aretrieve_many", None)):
            raise InvalidArgument(f"view must be an Index or a view of one, got {shown(self.view)}")
        check_strategy("strategy", self.strategy)

    @property
    def finds_spans(self) -> bool:
        """No strategy of this index can merge or widen the results."""
        return True

    @property
    def needs_query(self) -> bool:
        """The same as the strategy's."""
        return self.strategy.needs_query

    @property
    def returns_all(self) -> bool:
        """The same as the strategy's, and True with ``k``."""
        return self.k is not None or self.strategy.returns_all

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy: one search there for all queries."""
        most = min(context.results, _MOST)
        wheres = [each for each in (context.where, self.where) if each is not None]
        options = {
            "k": most if self.k is None else min(self.k, most),
            "candidates": min(context.candidates, _MOST) if context.exactly else self.candidates,
            "budget": self.budget,
            "per_document": self.per_document,
            "where": wheres[0] & wheres[1] if len(wheres) == 2 else next(iter(wheres), None),
        }
        asked = [None if query == _BLANK else query for query in queries]
        rows: list[list[Passage]] = yield CallFunction(self._search, (asked, options), self._asearch)
        found = [[_outside(passage) for passage in row] for row in rows]
        # As results of another source, so that the retrieval leaves out what the asking view does not show.
        shown_rows: list[list[Candidate]] = yield tuple(map(_as_host, range(len(found)), found))
        shown_ids = [{each.span.id for each in row} for row in shown_rows]
        return [[each for each in row if each.span.id in ids] for row, ids in zip(found, shown_ids, strict=True)]

    def _search(self, queries: list[Query | None], options: Mapping[str, Any]) -> Any:
        return self.view.retrieve_many(queries, self.strategy, **options)

    async def _asearch(self, queries: list[Query | None], options: Mapping[str, Any]) -> Any:
        return await self.view.aretrieve_many(queries, self.strategy, **options)


def _outside(passage: Passage) -> Candidate:
    """A passage of the other index, as a passage of another source, which is cited by its metadata."""
    there = {**passage.metadata, **citation(passage)}
    trace = passage.trace + Trace(notes=(_NOTE,))
    return outside_candidate(
        replace(passage, document_id="", start=None, end=None, summary=None, metadata=there, trace=trace, outline=None)
    )


def _as_host(number: int, found: Sequence[Candidate]) -> AskHost:
    """A request that these candidates answer."""
    passages = [each.outside for each in found if each.outside is not None]
    results = [HostResult(each.id, each.text, each.score, each.metadata, each.kind) for each in passages]

    async def aask(_question: str) -> list[HostResult]:
        return results

    return AskHost("other index", str(number), lambda _question: results, aask, elsewhere=True)
