"""What all retrievers of this package have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, get_args

from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType

from leafspan import Budget, InvalidArgument, Passage, Query, Strategy, View, Where
from leafspan.hosting import (
    FilterPolicy,
    Limits,
    aexplain,
    apply_policy,
    as_base,
    asearch,
    asearch_many,
    changed_options,
    check_choice,
    check_flag,
    check_index,
    check_option_names,
    check_timeout,
    check_whole,
    explain,
    is_elsewhere,
    is_plain,
    make_strategy,
    own_options,
    plain_options,
    read_options,
    read_retriever,
    search,
    search_many,
    searches_the_same,
    shown,
    to_filter,
    write_retriever,
)
from leafspan.lab import Explanation
from llamaindex_ext.documents import to_scored_node
from llamaindex_ext.engines import AnsweringRetriever
from llamaindex_ext.events import DISPATCHER, say, say_traces
from llamaindex_ext.host_retriever import as_strategy

_NOT_WRITTEN = ("index", "callback_manager", "object_map", "objects", "verbose")


class FilteredQueryBundle(QueryBundle):
    """A QueryBundle with a filter for one call.

    Args:
        query_str: The question.
        where: Filter on the documents' metadata, in any dialect. The retriever's ``filter_policy`` says how it joins the
            retriever's own.
        options: The other options of a QueryBundle.
    """

    def __init__(self, query_str: str, where: object, **options: Any) -> None:
        super().__init__(query_str, **options)
        self.filters = where


@dataclass(kw_only=True, eq=False, repr=False)
class BaseSpanRetriever(AnsweringRetriever):
    """A strategy over an index or a view of one, as a LlamaIndex retriever.

    LlamaIndex's calls take no options: ``with_options`` gives a copy with others, and a ``FilteredQueryBundle`` brings a
    filter. As a base of another retriever over the same index it counts as its strategy: its ``where`` and ``min_score``
    hold beside those of the other one; its ``similarity_top_k``, ``candidates``, ``budget`` and ``retrieval_timeout`` do
    not.
    """

    index: View | None = field(default=None, kw_only=False)
    similarity_top_k: int | None = None
    candidates: int | None = None
    budget: int | Budget | None = None
    where: Any = None
    min_score: float | None = None
    retrieval_timeout: float | None = None
    filter_policy: FilterPolicy = "replace"
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
        if self.index is None and next(each for each in fields(self) if each.name == "index").default is MISSING:
            kind = type(self).__name__
            raise InvalidArgument(f"{kind} must have an index to search, got none: {kind}(index)")
        check_index(self.index)
        vars(self).update(read_options(self._kind(), {each.name: getattr(self, each.name) for each in fields(self)}))
        strategy = self._strategy()
        check_index(self.index, strategy)
        if self.similarity_top_k is not None:
            self.similarity_top_k = check_whole("similarity_top_k", self.similarity_top_k, 1)
        limits = Limits.of(self.similarity_top_k, self.candidates, self.budget, self.where, self.min_score)
        self.candidates, self.where = limits.candidates, limits.where
        check_timeout(self.retrieval_timeout, "retrieval_timeout")
        check_choice("filter_policy", self.filter_policy, get_args(FilterPolicy))
        check_flag("explain", self.explain)
        vars(self).update(self._plain_options(strategy))

    def __repr__(self) -> str:
        """The class, the index, and the options that differ from their defaults."""
        given = [each for each in changed_options(self) if each.name not in _OF_LLAMAINDEX]
        return f"{type(self).__name__}({', '.join(f'{each.name}={shown(getattr(self, each.name))}' for each in given)})"

    def with_options(self, **options: Any) -> Self:
        """A copy of this retriever with other options. A ``where`` joins this one's as its ``filter_policy`` says.

        Raises:
            InvalidArgument: if an option is unknown or out of its range.
        """
        known = [each.name for each in fields(self)]
        check_option_names(f"with_options of {type(self).__name__}", options, known)
        if "where" in options:
            options["where"] = self._joined(options["where"])
        return replace(self, **options)

    @classmethod
    def _kind(cls) -> type[Strategy] | None:
        """Class of the strategy that the retriever stands for, None for any."""
        return None

    def to_dict(self, *, given: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The retriever as plain values, which ``from_dict`` makes an equal one of. The index is not among them.

        Args:
            given: Objects that cannot be written, such as functions, by the names that stand for them. Default: none.

        Raises:
            InvalidArgument: if an option cannot be written, such as a function that is not among ``given``.
        """
        return write_retriever(self, self._kind(), self._own_options(), given)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, index: View | None = None, given: Mapping[str, object] | None = None
    ) -> Self:
        """The retriever that ``to_dict`` has made plain values of, over an index.

        Args:
            data: The plain values.
            index: Index to search, or a view of one. Default: none, for what searches other sources only.
            given: Objects for the names that stand for them as ``{"given": name}``. Default: none.

        Raises:
            InvalidArgument: if it is not what ``to_dict`` of this class gives, or something in it is wrong.
        """
        return cls(index=index, **read_retriever(cls, cls._kind(), data, given))

    def _own_options(self) -> dict[str, Any]:
        """The options that differ from their defaults, but for the index and what LlamaIndex calls back."""
        known = [each for each in fields(self) if each.name not in _NOT_WRITTEN]
        defaults = {
            each.name: each.default if each.default_factory is MISSING else each.default_factory() for each in known
        }
        options = {each.name: getattr(self, each.name) for each in known}
        return own_options(options, defaults, self._unwrapped)

    def _unwrapped(self, value: object) -> object:
        """A strategy in the place of a retriever."""
        return self._as_strategy("a retriever", value) if isinstance(value, BaseSpanRetriever) else value

    @DISPATCHER.span
    def retrieve_many(self, queries: Sequence[QueryType]) -> list[list[NodeWithScore]]:
        """What ``retrieve`` returns for each of several queries, searched in one call."""
        bundles, asked = self._many(queries)
        say(RetrievalStartEvent(str_or_query_bundle=bundle) for bundle in bundles)
        rows = [self._nodes(row) for row in search_many(self.index, *asked)]
        rows = [self._handle_recursive_retrieval(bundle, row) for bundle, row in zip(bundles, rows, strict=True)]
        say(RetrievalEndEvent(str_or_query_bundle=each, nodes=row) for each, row in zip(bundles, rows, strict=True))
        return rows

    @DISPATCHER.span
    async def aretrieve_many(self, queries: Sequence[QueryType]) -> list[list[NodeWithScore]]:
        """Like ``retrieve_many``."""
        bundles, asked = self._many(queries)
        say(RetrievalStartEvent(str_or_query_bundle=bundle) for bundle in bundles)
        found = [self._nodes(row) for row in await asearch_many(self.index, *asked)]
        rows = [await self._ahandle_recursive_retrieval(bundle, row) for bundle, row in zip(bundles, found, strict=True)]
        say(RetrievalEndEvent(str_or_query_bundle=each, nodes=row) for each, row in zip(bundles, rows, strict=True))
        return rows

    def explanation(self, str_or_query_bundle: QueryType, **piece: Any) -> Explanation:
        """Like the core's ``View.explain``, but with the retriever's own strategy and limits.

        Args:
            str_or_query_bundle: The question, or a QueryBundle of it.
            piece: ``document_id``, and ``text`` or ``start`` and ``end``, of what is not returned. Default: none, what is
                returned is explained.

        Raises:
            DocumentNotFound: if there is no document of that id, or the view does not show it.
            InvalidArgument: if the retriever has no index, or the piece is not in the document.
        """
        return explain(self.index, *self._asked(str_or_query_bundle), piece)

    async def aexplanation(self, str_or_query_bundle: QueryType, **piece: Any) -> Explanation:
        """Like ``explanation``."""
        return await aexplain(self.index, *self._asked(str_or_query_bundle), piece)

    def _asked(self, query: QueryType) -> tuple[str | Query, Strategy, dict[str, Any]]:
        """What is asked for a query."""
        bundle = query if isinstance(query, QueryBundle) else QueryBundle(query)
        return to_query(bundle), self._strategy(bundle), self._limits(bundle)

    def _many(
        self, queries: Sequence[QueryType]
    ) -> tuple[list[QueryBundle], tuple[list[str | Query], Strategy, dict[str, Any]]]:
        """Several queries as bundles, and what is asked for them.

        Raises:
            InvalidArgument: if one of them brings a filter of its own.
        """
        if isinstance(queries, str | QueryBundle) or not isinstance(queries, Sequence):
            raise InvalidArgument(f"queries must be a list of questions or QueryBundles, got {shown(queries)}")
        bundles = [each if isinstance(each, QueryBundle) else QueryBundle(each) for each in queries]
        if any(getattr(each, "filters", None) is not None for each in bundles):
            raise InvalidArgument(
                "queries must have no filters of their own, got a bundle with filters: use with_options(where=...)"
            )
        return bundles, ([to_query(each) for each in bundles], self._strategy(), self._limits(QueryBundle("")))

    @abstractmethod
    def _strategy(self, bundle: QueryBundle | None = None) -> Strategy:
        """The strategy. A base of LlamaIndex's is asked ``bundle``."""

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        """The options that are the strategy's own, as it has them."""
        return {}

    def _as_strategy(self, name: str, thing: Any, bundle: QueryBundle | None = None) -> Strategy:
        """A base, called ``name`` in errors, as a strategy."""
        # One with results of its own, a subclass or one that has objects, is asked like any other retriever.
        if (
            isinstance(thing, BaseSpanRetriever)
            and searches_the_same(self.index, thing.index)
            and is_plain(thing, BaseSpanRetriever, ("_retrieve", "_aretrieve"))
            and not thing.object_map
        ):
            return as_base(thing._strategy(bundle), thing.where, thing.min_score)
        elsewhere = isinstance(thing, BaseSpanRetriever) and is_elsewhere(self.index, thing.index)
        return as_strategy(thing, bundle, name=name, elsewhere=elsewhere)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(search(self.index, *self._asked(query_bundle), for_several="retrieve_many"))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await asearch(self.index, *self._asked(query_bundle), for_several="aretrieve_many")
        return self._nodes(found)

    def _limits(self, bundle: QueryBundle) -> dict[str, Any]:
        return {
            "k": self.similarity_top_k,
            "candidates": self.candidates,
            "budget": self.budget,
            "where": self._joined(getattr(bundle, "filters", None)),
            "min_score": self.min_score,
            "timeout": self.retrieval_timeout,
        }

    def _joined(self, where: object) -> Where | None:
        """The filter of a call and this retriever's own."""
        return apply_policy(to_filter(self.where), to_filter(where), self.filter_policy)

    def _nodes(self, passages: Sequence[Passage]) -> list[NodeWithScore]:
        say_traces(passages)
        return [to_scored_node(passage, explain=self.explain, objects=self.object_map) for passage in passages]


@dataclass(kw_only=True, eq=False, repr=False)
class NamedRetriever(BaseSpanRetriever):
    """The retriever of one strategy, ``kind``, whose options it declares."""

    kind: ClassVar[type[Strategy]]

    @classmethod
    def _kind(cls) -> type[Strategy] | None:
        return cls.kind

    def _strategy(self, bundle: QueryBundle | None = None) -> Strategy:
        return make_strategy(self.kind, self, self._converted(bundle))

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        """The options that the strategy has in another form."""
        return {}

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        return plain_options(self.kind, self, strategy, self._converted(None))


@dataclass(kw_only=True, eq=False, repr=False)
class LeafRetriever(NamedRetriever):
    """The retriever of a strategy that finds leaves, and so needs an index."""

    index: View = field(kw_only=False)


@dataclass(kw_only=True, eq=False, repr=False)
class BasedRetriever(NamedRetriever):
    """The retriever of a strategy that builds on a ``base``: another strategy, or any LlamaIndex retriever."""

    base: Any = None

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {"base": None if self.base is None else self._as_strategy("base", self.base, bundle)}


@dataclass(kw_only=True, eq=False, repr=False)
class BasedLeafRetriever(BasedRetriever):
    """The retriever of a strategy that builds on a ``base`` of leaves, and so needs an index."""

    index: View = field(kw_only=False)


_OF_LLAMAINDEX = ("callback_manager", "object_map", "objects", "verbose")


def to_query(bundle: QueryBundle) -> str | Query:
    """A QueryBundle as the core's question, with its vector or the texts to embed."""
    if bundle.embedding is None and not bundle.custom_embedding_strs:
        return bundle.query_str
    vector = None if bundle.embedding is None else tuple(bundle.embedding)
    return Query(text=bundle.query_str, vector=vector, embedding_texts=tuple(bundle.custom_embedding_strs or ()))
