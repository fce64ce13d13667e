"""What all retrievers of this package have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from inspect import getattr_static
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, model_validator

from langchain_ext.documents import to_document
from langchain_ext.outside import as_strategy
from leafspan import Budget, InvalidArgument, Strategy, View
from leafspan.filters import FilterPolicy, apply_policy, to_filter
from leafspan.retrieval import Limits
from leafspan.strategies import filtered


class SpanRetriever(BaseRetriever):
    """A strategy over an index or a view of one. ``k``, ``candidates``, ``budget``, ``where`` are its ``retrieve``'s.

    Each of the four can also be given to a call, ``retriever.invoke(question, k=3)``, in place of the retriever's own.
    With ``filter_policy="merge"`` a filter given to a call counts beside the retriever's own, and both must hold. With
    ``explain``, Documents carry a ``trace`` in their metadata.

    As a base or leg of another one over the same index it is its strategy, just as if that had been given: its ``where``
    holds beside that of the call; its ``k``, ``candidates`` and ``budget`` do not, as the other one's do.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: View
    k: int | None = None
    candidates: int | None = None
    budget: int | Budget | None = None
    where: Any = None
    filter_policy: FilterPolicy = "replace"
    explain: bool = False

    @abstractmethod
    def _strategy(self, child: Any = None) -> Strategy:
        """The strategy, a base of LangChain's being called with the callbacks ``child``."""

    @property
    def _is_plain(self) -> bool:
        """Whether it does nothing but what its strategy does; a subclass may, and is then asked like any retriever."""
        names = ("_get_relevant_documents", "_aget_relevant_documents")
        return all(getattr_static(self, name) is getattr_static(SpanRetriever, name) for name in names)

    def _used(self, name: str, thing: Any, child: Any = None) -> Strategy:
        """A base or leg, called ``name`` in errors, as a strategy."""
        if isinstance(thing, SpanRetriever) and thing.index == self.index and thing._is_plain:
            return filtered(thing._strategy(child), thing.where)
        return as_strategy(thing, child, name=name)

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._strategy()
        Limits.of(self.k, self.candidates, self.budget, self.where)
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        strategy = self._strategy(run_manager.get_child())
        passages = self.index.retrieve(query, strategy, **self._limits(options))
        return [to_document(passage, explain=self.explain) for passage in passages]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        strategy = self._strategy(run_manager.get_child())
        passages = await self.index.aretrieve(query, strategy, **self._limits(options))
        return [to_document(passage, explain=self.explain) for passage in passages]

    def _limits(self, options: Mapping[str, Any]) -> dict[str, Any]:
        own: dict[str, Any] = {"k": self.k, "candidates": self.candidates, "budget": self.budget, "where": self.where}
        if unknown := options.keys() - own.keys():
            raise InvalidArgument(f"a call may be given {', '.join(own)}, got {', '.join(sorted(unknown))}")
        where = apply_policy(to_filter(self.where), to_filter(options.get("where")), self.filter_policy)
        return {**own, **options, "where": where}

    def _get_ls_params(self, **options: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**options)
        params["ls_vector_store_provider"] = "Chroma"
        return params


class BasedRetriever(SpanRetriever):
    """A strategy over what a ``base`` finds: another strategy, or any LangChain retriever that returns leaves.

    A retriever of this package over the same index is its strategy, see ``SpanRetriever``.
    """

    base: Any = None

    def _base(self, child: Any) -> dict[str, Strategy]:
        return {} if self.base is None else {"base": self._used("base", self.base, child)}
