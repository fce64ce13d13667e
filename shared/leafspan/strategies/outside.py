"""A retriever of a host framework, as the base of a strategy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from leafspan.errors import InvalidArgument
from leafspan.requests import Ask, Asking, OutsideResult
from leafspan.strategies.strategy import Reach
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True)
class Outside:
    """The leaves that another retriever returns, in its order; the adapters make it of a retriever of their host.

    A result must be a leaf of the index, known by its id. Scores are the retriever's own, where it gives one to each
    result and they do not rise down the list; otherwise the r-th result, from 1, scores 1 / r.
    """

    name: str
    ask: Callable[[str], Sequence[OutsideResult]]
    aask: Callable[[str], Awaitable[Sequence[OutsideResult]]]

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy: the retriever is asked each query, and all at once in an event loop.

        It does not know of a filter or a scope; of its results, leaves of other documents are left out.

        Raises:
            InvalidArgument: if a query is given as a vector only.
        """
        if any(query.text is None for query in queries):
            raise InvalidArgument(f"{self.name} needs the query as text, got a vector only")
        requests = tuple(Ask(self.name, query.text or "", self.ask, self.aask, reach.where) for query in queries)
        results: list[list[Found]] = yield requests
        return [row[: reach.candidates] for row in results]
