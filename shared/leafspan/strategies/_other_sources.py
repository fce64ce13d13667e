"""Other sources as strategies: a retriever of a host framework, or another index."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

from leafspan.checks import check_flag, check_text, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.spans import Budget, citation
from leafspan.strategies._queries import query_texts
from leafspan.strategies._requests import AskHost, CallFunction, HostResult, RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.trace import Trace
from leafspan.values import Candidate, Passage, Query, outside_candidate


@dataclass(frozen=True, slots=True)
class HostRetriever(Strategy):
    """What a retriever of LangChain, LlamaIndex or another source returns, in its order. The adapters make these.

    A result with the id of a leaf of the index is that leaf. Any other is a passage of its own kind, which no strategy can
    widen or merge. Scores are the retriever's own if each result has one and no
    score rises above the one before it. Otherwise result number r, from 1, has the score 1 / r.

    Args:
        name: Name for traces and errors.
        ask: Function from a question to the results.
        aask: Its coroutine function.
        elsewhere: Whether no result is a leaf of the index, even with a leaf's id, since it comes from another index.
            Default: False.

    Raises:
        InvalidArgument: if an option is of a wrong type.
    """

    configurable: ClassVar[bool] = False
    name: str
    ask: Callable[[str], Sequence[HostResult]]
    aask: Callable[[str], Awaitable[Sequence[HostResult]]]
    elsewhere: bool = False

    def __post_init__(self) -> None:
        check_text("name", self.name)
        for name, function in (("ask", self.ask), ("aask", self.aask)):
            if function is not None and not callable(function):
                raise InvalidArgument(f"{name} must be a function from a question to results, got {shown(function)}")
        check_flag("elsewhere", self.elsewhere)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """The retriever ignores filters and scopes, so results that do not match are left out."""
        texts = query_texts(self.name, queries)
        results: list[list[Candidate]] = yield tuple(
            AskHost(self.name, text, self.ask, self.aask, context.where, self.elsewhere) for text in texts
        )
        return [row[: context.candidates] for row in results]


_MOST = 10_000  # most results of a search
_NOTE = "found in another index"
_BLANK = Query(text="")


class Searchable(Protocol):
    """An index or a view of one."""

    @property
    def retrieve_many(self) -> Callable[..., Any]: ...

    @property
    def aretrieve_many(self) -> Callable[..., Awaitable[Any]]: ...


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
        as_of: Moment at which its documents must be valid, or ``"now"``. Default: any.

    Raises:
        InvalidArgument: if ``view`` is not an index or view, or ``strategy`` is not a strategy.
    """

    finds_spans = True
    configurable: ClassVar[bool] = False
    view: Searchable
    strategy: Strategy
    k: int | None = None
    candidates: int | None = None
    budget: Budget | None = None
    where: Where | None = None
    per_document: int | None = None
    as_of: str | None = None

    def __post_init__(self) -> None:
        if not callable(getattr(self.view, "aretrieve_many", None)):
            raise InvalidArgument(f"view must be an Index or a view of one, got {shown(self.view)}")
        check_strategy("strategy", self.strategy)

    @property
    def needs_query(self) -> bool:
        return self.strategy.needs_query

    @property
    def returns_all(self) -> bool:
        """The same as the strategy's, and True with ``k``."""
        return self.k is not None or self.strategy.returns_all

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """One search there for all queries."""
        most = min(context.results, _MOST)
        wheres = [each for each in (context.where, self.where) if each is not None]
        options = {
            "k": most if self.k is None else min(self.k, most),
            "candidates": min(context.candidates, _MOST) if context.exactly else self.candidates,
            "budget": self.budget,
            "per_document": self.per_document,
            "as_of": self.as_of,
            "where": wheres[0] & wheres[1] if len(wheres) == 2 else next(iter(wheres), None),
        }
        questions = [None if query == _BLANK else query for query in queries]
        search, asearch = partial(self.view.retrieve_many, **options), partial(self.view.aretrieve_many, **options)
        request = CallFunction(search, (questions, self.strategy), asearch, what="another index")
        rows: list[list[Passage]] = yield request
        candidates = [[_outside(passage) for passage in row] for row in rows]
        # As results of another source, so that the retrieval leaves out what the asking view does not show.
        shown_rows: list[list[Candidate]] = yield tuple(map(_as_host, range(len(candidates)), candidates))
        shown_ids = [{each.span.id for each in row} for row in shown_rows]
        return [[each for each in row if each.span.id in ids] for row, ids in zip(candidates, shown_ids, strict=True)]


def _outside(passage: Passage) -> Candidate:
    """A passage of the other index, as a passage of another source, which is cited by its metadata."""
    metadata = {**passage.metadata, **citation(passage)}
    trace = passage.trace + Trace(notes=(_NOTE,))
    return outside_candidate(
        replace(passage, document_id="", start=None, end=None, summary=None, metadata=metadata, trace=trace, outline=None)
    )


def _as_host(number: int, candidates: Sequence[Candidate]) -> AskHost:
    """A request that these candidates answer."""
    passages = [each.outside for each in candidates if each.outside is not None]
    results = [HostResult(each.id, each.text, each.score, each.metadata, each.kind) for each in passages]

    async def aask(_question: str) -> list[HostResult]:
        return results

    return AskHost("other index", str(number), lambda _question: results, aask, elsewhere=True)
