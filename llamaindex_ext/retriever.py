"""The base of all retrievers of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType

from leafspan import InvalidArgument, Passage, Query, Strategy, View
from leafspan.hosting import (
    CallOptions,
    HostWords,
    LastStrategy,
    NamedStrategyRetriever,
    StrategyRetriever,
    changed_options,
    check_option_names,
    described,
    is_plain,
    read_options,
    shown,
)
from llamaindex_ext.documents import to_scored_node
from llamaindex_ext.engines import AnsweringRetriever
from llamaindex_ext.events import DISPATCHER, say, say_traces
from llamaindex_ext.host_objects import CONVERSIONS, as_strategy, to_query

WORDS = HostWords(
    name="LlamaIndex",
    k="similarity_top_k",
    llm="LlamaIndex LLM that writes {task}; never the LLM of ``Settings``. Default: no model.",
    chooser="Or a LlamaIndex selector.",
    transformer="A query transform of LlamaIndex can be the function.",
    reranker="LlamaIndex node postprocessor",
    own={
        "explain": "Whether each result is a ``NodeWithTrace``, with sentences that say how it was found. Default: False.",
        "callback_manager": "Callback manager of LlamaIndex. Default: one without handlers.",
        "object_map": "Objects of index nodes, by id, as in any LlamaIndex retriever. Default: none.",
        "objects": "Index nodes with their objects, instead of ``object_map``. Default: none.",
        "verbose": "Whether LlamaIndex prints the objects that it retrieves from. Default: False.",
    },
    raises="InvalidArgument: if an option is unknown or out of its range.",
    prompts="``get_prompts`` reads it, and ``update_prompts`` changes it.",
)
R = TypeVar("R")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def documented(retriever: type[R]) -> type[R]:
    """A decorator that makes a retriever a dataclass, and gives it a docstring with all of its options."""
    return described(WORDS)(dataclass(kw_only=True, eq=False, repr=False)(retriever))


_OF_LLAMAINDEX = ("callback_manager", "object_map", "objects", "verbose")
_OPEN: dict[str, Any] = {
    name: f"{{{name}}}" for name in ("question", "count", "retrievers", "schema", "dialect", "sql", "error")
}
_NOT_WRITTEN = ("index", *_OF_LLAMAINDEX)


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
class BaseSpanRetriever(StrategyRetriever, AnsweringRetriever):
    """A strategy over an index or a view of one, as a LlamaIndex retriever.

    LlamaIndex's calls take no options: ``with_options`` returns a copy with other options, and a ``FilteredQueryBundle``
    has a filter. As the base of another retriever over the same index, it is treated as its strategy: its filters and
    ``min_score`` apply in addition to the other retriever's; its ``similarity_top_k``, ``candidates``, ``budget`` and
    ``retrieval_timeout`` do not apply.
    """

    index: View | None = field(default=None, kw_only=False)
    similarity_top_k: int | None = None
    callback_manager: CallbackManager = field(default_factory=CallbackManager)
    object_map: dict[Any, Any] = field(default_factory=dict)
    objects: list[Any] | None = None
    verbose: bool = False
    _name_of_k: ClassVar[str] = "similarity_top_k"

    def __new__(cls, *_: object, **options: object) -> Self:
        """Checks the names of options before the generated ``__init__``, which would not suggest the right name."""
        maker = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
        if maker.__module__.partition(".")[0] == __name__.partition(".")[0]:  # not the __init__ of a user's subclass
            check_option_names(cls.__name__, options, [each.name for each in fields(cls)])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        super().__init__(self.callback_manager, self.object_map, self.objects, self.verbose)
        self._last_strategy = LastStrategy()
        if self.index is None and next(each for each in fields(self) if each.name == "index").default is MISSING:
            kind = type(self).__name__
            raise InvalidArgument(f"{kind} must have an index to search, got no index: {kind}(index)")
        vars(self).update(read_options(self._kind(), {each.name: getattr(self, each.name) for each in fields(self)}))
        vars(self).update(self._checked_options())

    def __repr__(self) -> str:
        """The class, the index, and the options that differ from their defaults."""
        changed = [each for each in changed_options(self) if each.name not in _OF_LLAMAINDEX]
        common = {each.name for each in fields(BaseSpanRetriever)}
        changed.sort(key=lambda each: (each.name != "index", each.name not in common))
        return f"{type(self).__name__}({', '.join(f'{each.name}={shown(getattr(self, each.name))}' for each in changed)})"

    def with_options(self, **options: Any) -> Self:
        """A copy of this retriever with other options. Its ``filter_policy`` says how a ``where`` joins its own."""
        check_option_names(f"with_options of {type(self).__name__}", options, [each.name for each in fields(self)])
        if "where" in options:
            options["where"] = self._joined(options["where"])
        return replace(self, **options)

    def _with_defaults(self) -> Mapping[str, tuple[object, object]]:
        options = [each for each in fields(self) if each.name not in _NOT_WRITTEN]
        defaults = [each.default if each.default_factory is MISSING else each.default_factory() for each in options]
        return {each.name: (getattr(self, each.name), default) for each, default in zip(options, defaults, strict=True)}

    @DISPATCHER.span
    def retrieve_many(self, queries: Sequence[QueryType]) -> list[list[NodeWithScore]]:
        """The results of ``retrieve`` for several queries, searched in one call."""
        bundles, call = self._many(queries)
        say(RetrievalStartEvent(str_or_query_bundle=bundle) for bundle in bundles)
        rows = [self._results(row) for row in self._search_many(*call)]
        rows = [self._handle_recursive_retrieval(bundle, row) for bundle, row in zip(bundles, rows, strict=True)]
        say(RetrievalEndEvent(str_or_query_bundle=each, nodes=row) for each, row in zip(bundles, rows, strict=True))
        return rows

    @DISPATCHER.span
    async def aretrieve_many(self, queries: Sequence[QueryType]) -> list[list[NodeWithScore]]:
        """Like ``retrieve_many``."""
        bundles, call = self._many(queries)
        say(RetrievalStartEvent(str_or_query_bundle=bundle) for bundle in bundles)
        nodes = [self._results(row) for row in await self._asearch_many(*call)]
        rows = [await self._ahandle_recursive_retrieval(bundle, row) for bundle, row in zip(bundles, nodes, strict=True)]
        say(RetrievalEndEvent(str_or_query_bundle=each, nodes=row) for each, row in zip(bundles, rows, strict=True))
        return rows

    def _call(self, query: QueryType) -> tuple[str | Query, Strategy, CallOptions]:
        bundle = query if isinstance(query, QueryBundle) else QueryBundle(query)
        return to_query(bundle), self._strategy(bundle), self._limits(getattr(bundle, "filters", None))

    def _many(
        self, queries: Sequence[QueryType]
    ) -> tuple[list[QueryBundle], tuple[list[str | Query], Strategy, CallOptions]]:
        """Several queries as bundles, with the core's queries, strategy and options."""
        if isinstance(queries, str | QueryBundle) or not isinstance(queries, Sequence):
            raise InvalidArgument(f"queries must be a list of questions or QueryBundles, got {shown(queries)}")
        bundles = [each if isinstance(each, QueryBundle) else QueryBundle(each) for each in queries]
        if any(getattr(each, "filters", None) is not None for each in bundles):
            raise InvalidArgument(
                "queries must have no filters of their own, got a bundle with filters: use with_options(where=...)"
            )
        return bundles, ([to_query(each) for each in bundles], self._strategy(), self._limits())

    def _as_strategy(self, name: str, thing: Any, context: QueryBundle | None = None) -> Strategy:
        """A base as a strategy; errors call the base ``name``. A LlamaIndex base gets the bundle ``context``."""
        if not isinstance(thing, BaseSpanRetriever):
            return as_strategy(thing, context, name=name)
        # A retriever with its own results (a subclass, or with objects) is called like any other retriever.
        is_strategy = is_plain(thing, BaseSpanRetriever, ("_retrieve", "_aretrieve")) and not thing.object_map
        if is_strategy and (part := thing._part_of(self, context)) is not None:
            return part
        return as_strategy(thing, context, name=name, elsewhere=thing._is_elsewhere(self))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._results(self._search(*self._call(query_bundle), for_several="retrieve_many"))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._results(await self._asearch(*self._call(query_bundle), for_several="aretrieve_many"))

    def _results(self, passages: Sequence[Passage]) -> list[NodeWithScore]:
        say_traces(passages)
        return [to_scored_node(passage, explain=self.explain, objects=self.object_map) for passage in passages]


@dataclass(kw_only=True, eq=False, repr=False)
class NamedRetriever(NamedStrategyRetriever, BaseSpanRetriever):
    """The retriever of one strategy, ``kind``, whose options it declares."""

    _conversions: ClassVar = CONVERSIONS

    def _prompts(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in ("prompt", "repair_prompt") if hasattr(self, name)}

    def _get_prompts(self) -> PromptDictType:
        return {name: PromptTemplate(text) for name, text in self._prompts().items() if text is not None}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        # Values that were filled in before (partial_format) are kept, and leafspan's fields stay open.
        changed: dict[str, Any] = {
            name: prompts_dict[name].format(**_OPEN) for name in self._prompts() if name in prompts_dict
        }
        replace(self, **changed)  # checks them
        vars(self).update(changed)


@dataclass(kw_only=True, eq=False, repr=False)
class LeafRetriever(NamedRetriever):
    """The retriever of a strategy that finds leaves, and so needs an index."""

    index: View = field(kw_only=False)
