"""What all retrievers of this package have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from leafspan import Budget, InvalidArgument, Query, Strategy, View
from leafspan.retrieval import Limits
from llamaindex_ext.documents import to_scored_node
from llamaindex_ext.outside import as_strategy


class SpanRetriever(BaseRetriever):
    """A strategy over an index, or a view of one.

    ``similarity_top_k`` is ``k`` of its ``retrieve``; ``candidates``, ``budget`` and ``where`` are as there. With
    ``explain``, what is returned are ``NodeWithTrace``. What else LlamaIndex's retrievers take (``callback_manager``,
    ``verbose``, ...) can be given too.
    """

    def __init__(
        self,
        index: View,
        *,
        similarity_top_k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
        explain: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not isinstance(index, View):
            raise InvalidArgument(f"index must be an Index or a view of one, got {index!r}")
        self.index = index
        self.similarity_top_k = similarity_top_k
        self.candidates = candidates
        self.budget = budget
        self.where = where
        self.explain = explain
        self._strategy()
        Limits.of(similarity_top_k, candidates, budget, where)

    @abstractmethod
    def _strategy(self, bundle: QueryBundle | None = None) -> Strategy:
        """The strategy, a base of LlamaIndex's being asked ``bundle``."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = self.index.retrieve(_query(query_bundle), self._strategy(query_bundle), **self._limits())
        return [to_scored_node(passage, explain=self.explain) for passage in passages]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = await self.index.aretrieve(_query(query_bundle), self._strategy(query_bundle), **self._limits())
        return [to_scored_node(passage, explain=self.explain) for passage in passages]

    def _limits(self) -> dict[str, Any]:
        return {
            "k": self.similarity_top_k,
            "candidates": self.candidates,
            "budget": self.budget,
            "where": self.where,
        }


class BasedRetriever(SpanRetriever):
    """A strategy over what a ``base`` finds: another strategy, or any LlamaIndex retriever that returns leaves."""

    def __init__(self, index: View, *, base: Any = None, **options: Any) -> None:
        self.base = base
        super().__init__(index, **options)

    def _base(self, bundle: QueryBundle | None) -> dict[str, Strategy]:
        return {} if self.base is None else {"base": as_strategy(self.base, bundle)}


def _query(bundle: QueryBundle) -> str | Query:
    if bundle.embedding is None and not bundle.custom_embedding_strs:
        return bundle.query_str
    vector = None if bundle.embedding is None else tuple(bundle.embedding)
    return Query(text=bundle.query_str, vector=vector, embedding_texts=tuple(bundle.custom_embedding_strs or ()))
