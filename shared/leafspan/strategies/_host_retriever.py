"""A retriever of a host framework, as the base of a strategy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from leafspan.checks import check_flag, check_text, shown
from leafspan.errors import InvalidArgument
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._queries import query_texts
from leafspan.strategies._requests import AskHost, HostResult, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, Query


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
        """See Strategy: in an event loop all queries are asked at once.

        The retriever ignores filters and scopes, so results that do not match are left out.

        Raises:
            InvalidArgument: if a query is a vector only.
        """
        texts = query_texts(self.name, queries)
        results: list[list[Candidate]] = yield tuple(
            AskHost(self.name, text, self.ask, self.aask, context.where, self.elsewhere) for text in texts
        )
        return [row[: context.candidates] for row in results]
