"""What all retrievers of this package have in common."""

from __future__ import annotations

from abc import abstractmethod
from inspect import getattr_static
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from leafspan import Budget, InvalidArgument, Query, Strategy, View
from leafspan.retrieval import Limits
from leafspan.strategies import filtered
from llamaindex_ext.documents import to_scored_node
from llamaindex_ext.outside import as_strategy

_MEANT = {"k": "similarity_top_k", "top_k": "similarity_top_k", "filters": "where", "filter": "where"}


class SpanRetriever(BaseRetriever):
    """A strategy over an index, or a view of one.

    ``similarity_top_k`` is ``k`` of its ``retrieve``; ``candidates``, ``budget`` and ``where`` are as there. With
    ``explain``, what is returned are ``NodeWithTrace``. What else LlamaIndex's retrievers take (``callback_manager``,
    ``verbose``, ...) can be given too.

    As a base or leg of another one over the same index it is its strategy, just as if that had been given: its ``where``
    holds beside that of the other one; its ``similarity_top_k``, ``candidates`` and ``budget`` do not, as the other one's
    do.
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
        for name, meant in _MEANT.items():
            if name in options:
                raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {name!r}: here it is {meant!r}")
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

    @property
    def _is_plain(self) -> bool:
        """Whether it does nothing but what its strategy does; a subclass may, and is then asked like any retriever."""
        names = ("_retrieve", "_aretrieve")
        return all(getattr_static(self, name) is getattr_static(SpanRetriever, name) for name in names)

    def _used(self, name: str, thing: Any, bundle: QueryBundle | None = None) -> Strategy:
        """A base or leg, called ``name`` in errors, as a strategy."""
        if isinstance(thing, SpanRetriever) and thing.index == self.index and thing._is_plain:
            return filtered(thing._strategy(bundle), thing.where)
        return as_strategy(thing, bundle, name=name)

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
    """A strategy over what a ``base`` finds: another strategy, or any LlamaIndex retriever that returns leaves.

    A retriever of this package over the same index is its strategy, see ``SpanRetriever``.
    """

    def __init__(self, index: View, *, base: Any = None, **options: Any) -> None:
        self.base = base
        super().__init__(index, **options)

    def _base(self, bundle: QueryBundle | None) -> dict[str, Strategy]:
        return {} if self.base is None else {"base": self._used("base", self.base, bundle)}


def _query(bundle: QueryBundle) -> str | Query:
    if bundle.embedding is None and not bundle.custom_embedding_strs:
        return bundle.query_str
    vector = None if bundle.embedding is None else tuple(bundle.embedding)
    return Query(text=bundle.query_str, vector=vector, embedding_texts=tuple(bundle.custom_embedding_strs or ()))
