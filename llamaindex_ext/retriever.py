"""What all retrievers of this package have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from leafspan import Budget, Query, Strategy, View
from leafspan.hosting import (
    Limits,
    check_flag,
    check_index,
    check_option_names,
    filtered,
    is_plain,
    make_strategy,
    plain_options,
)
from llamaindex_ext.documents import to_scored_node
from llamaindex_ext.host_retriever import as_strategy


@dataclass(kw_only=True, eq=False, repr=False)
class SpanRetriever(BaseRetriever):
    """A strategy over an index or a view of one, as a LlamaIndex retriever.

    As a base of another retriever over the same index it counts as its strategy: its ``where`` holds beside that of the
    other one; its ``similarity_top_k``, ``candidates`` and ``budget`` do not.
    """

    index: View = field(kw_only=False)
    similarity_top_k: int | None = None
    candidates: int | None = None
    budget: int | Budget | None = None
    where: Any = None
    explain: bool = False
    callback_manager: CallbackManager = field(default_factory=CallbackManager)
    object_map: dict[Any, Any] = field(default_factory=dict)
    objects: list[Any] | None = None
    verbose: bool = False

    def __new__(cls, *_: object, **options: object) -> Self:
        """Checks the names of options, before the generated ``__init__`` does without saying what was meant."""
        maker = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
        if maker.__module__.partition(".")[0] == __name__.partition(".")[0]:  # not that of a subclass of the user's
            check_option_names(cls.__name__, options, [each.name for each in fields(cls)])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        super().__init__(self.callback_manager, self.object_map, self.objects, self.verbose)
        check_index(self.index)
        strategy = self._strategy()
        Limits.of(self.similarity_top_k, self.candidates, self.budget, self.where)
        check_flag("explain", self.explain)
        vars(self).update(self._plain_options(strategy))

    @abstractmethod
    def _strategy(self, bundle: QueryBundle | None = None) -> Strategy:
        """The strategy. A base of LlamaIndex's is asked ``bundle``."""

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        """The options that are the strategy's own, as it has them."""
        return {}

    def _as_strategy(self, name: str, thing: Any, bundle: QueryBundle | None = None) -> Strategy:
        """A base, called ``name`` in errors, as a strategy."""
        # A subclass with results of its own is asked like any other retriever.
        if (
            isinstance(thing, SpanRetriever)
            and thing.index == self.index
            and is_plain(thing, SpanRetriever, ("_retrieve", "_aretrieve"))
        ):
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


@dataclass(kw_only=True, eq=False, repr=False)
class NamedRetriever(SpanRetriever):
    """The retriever of one strategy, ``kind``, whose options it declares."""

    kind: ClassVar[type[Strategy]]

    def _strategy(self, bundle: QueryBundle | None = None) -> Strategy:
        return make_strategy(self.kind, self, self._converted(bundle))

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        """The options that the strategy has in another form."""
        return {}

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        return plain_options(self.kind, self, strategy, self._converted(None))


@dataclass(kw_only=True, eq=False, repr=False)
class BasedRetriever(NamedRetriever):
    """The retriever of a strategy that builds on a ``base``: another strategy, or any LlamaIndex retriever of leaves."""

    base: Any = None

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {"base": None if self.base is None else self._as_strategy("base", self.base, bundle)}


def _query(bundle: QueryBundle) -> str | Query:
    if bundle.embedding is None and not bundle.custom_embedding_strs:
        return bundle.query_str
    vector = None if bundle.embedding is None else tuple(bundle.embedding)
    return Query(text=bundle.query_str, vector=vector, embedding_texts=tuple(bundle.custom_embedding_strs or ()))
