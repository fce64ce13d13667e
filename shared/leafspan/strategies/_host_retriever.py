"""A retriever of a host framework, as the base of a strategy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._queries import query_texts
from leafspan.strategies._requests import AskHost, HostResult, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True)
class HostRetriever(Strategy):
    """The leaves that a retriever of LangChain or LlamaIndex returns, in its order. The adapters make these.

    Each result must be a leaf of the index, known by its id. Scores are the retriever's own if each result has one and no
    score rises above the one before it. Otherwise result number r, from 1, has the score 1 / r.

    Args:
        name: Name for traces and errors.
        ask: Function from a question to the results.
        aask: Its coroutine function.
    """

    name: str
    ask: Callable[[str], Sequence[HostResult]]
    aask: Callable[[str], Awaitable[Sequence[HostResult]]]

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy: the retriever is asked each query, in an event loop all at once.

        It does not know of a filter or a scope. Those of its results that are leaves of other documents are left out.

        Raises:
            InvalidArgument: if a query is a vector only.
        """
        texts = query_texts(self.name, queries)
        results: list[list[Candidate]] = yield tuple(
            AskHost(self.name, text, self.ask, self.aask, context.where) for text in texts
        )
        return [row[: context.candidates] for row in results]
