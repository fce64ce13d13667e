"""What the retrievers of all hosts have in common: a strategy, limits, plain values, and explanations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, get_args

from leafspan.agents import AgentTool, agent_tool
from leafspan.checks import check_choice, check_flag, check_option_names, check_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import FilterPolicy, Where, apply_policy, to_filter
from leafspan.hosting._options import (
    CALL_OPTIONS,
    LastStrategy,
    check_index,
    names_to_convert,
    plain_options,
    read_options,
    write_options,
)
from leafspan.retrieval import (
    CallOptions,
    Limits,
    Passages,
    aretrieve,
    aretrieve_many,
    check_timeout,
    retrieve,
    retrieve_many,
)
from leafspan.spans import Budget
from leafspan.strategies import Rerank, Strategy, at_least, filtered, to_query
from leafspan.values import Passage, Query
from leafspan.view import View

if TYPE_CHECKING:
    from leafspan.lab import Explanation

_TYPE, _OPTIONS = "type", "init_parameters"


@dataclass(init=False, kw_only=True, eq=False, repr=False)
class RetrieverOptions:
    """The options of all retrievers, besides the index and ``k``."""

    candidates: int | None = None
    budget: int | Budget | None = None
    where: Any = None
    min_score: float | None = None
    per_document: int | None = None
    as_of: datetime | date | str | None = None
    retrieval_timeout: float | None = None
    filter_policy: FilterPolicy = "replace"
    explain: bool = False


class StrategyRetriever(RetrieverOptions):
    """A retriever of a host that runs a strategy."""

    index: View | None
    _name_of_k: ClassVar[str] = "k"

    @classmethod
    def _kind(cls) -> type[Strategy] | None:
        """Class of the retriever's strategy, None for any."""
        return getattr(cls, "kind", None)

    @abstractmethod
    def _strategy(self, context: Any = None) -> Strategy:
        """The strategy. ``context`` is what a base of the host gets with each question."""

    @abstractmethod
    def _as_strategy(self, name: str, thing: Any, context: Any = None) -> Strategy:
        """A base as a strategy; errors call the base ``name``."""

    @abstractmethod
    def _call(self, query: Any) -> tuple[Any, Strategy, CallOptions]:
        """The core's query, the strategy and the call's options for a host's query."""

    @abstractmethod
    def _results(self, passages: Sequence[Passage]) -> list[Any]:
        """The passages as the host has them."""

    @abstractmethod
    def _with_defaults(self) -> Mapping[str, tuple[object, object]]:
        """The options to write as plain values, each with its default."""

    def to_dict(self, *, given: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The retriever as plain values, from which ``from_dict`` makes an equal one. They do not include the index.

        Args:
            given: Objects that cannot be written, such as functions, by the names to write instead. Default: none.

        Raises:
            InvalidArgument: if an option cannot be written, such as a function that is not among ``given``.
        """
        return {_TYPE: _name(type(self)), _OPTIONS: write_options(self._kind(), self._own_options(), given)}

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, index: View | None = None, given: Mapping[str, object] | None = None
    ) -> Self:
        """Make a retriever over an index from plain values of ``to_dict``.

        Args:
            data: The plain values.
            index: Index to search, or a view of one. Default: none, for a retriever that searches other sources only.
            given: Objects for the names in ``{"given": name}``. Default: none.

        Raises:
            InvalidArgument: if ``data`` is not from ``to_dict`` of this class, or has an error in it.
        """
        options = data.get(_OPTIONS) if isinstance(data, Mapping) else None
        if not isinstance(options, Mapping) or data.get(_TYPE) != _name(cls):
            rule = f"data must be what to_dict of {cls.__qualname__} gives, with type {_name(cls)!r} and {_OPTIONS}"
            raise InvalidArgument(f"{rule}, got {shown(data)}")
        return cls(index=index, **read_options(cls._kind(), options, given or {}))  # type: ignore[call-arg]

    def explanation(self, query: Any, **piece: Any) -> Explanation:
        """Like ``leafspan.lab.explain``, but with the retriever's own strategy and limits.

        Args:
            query: The query, as for the retriever.
            piece: ``document_id``, and ``text`` or ``start`` and ``end``, of a missing passage to explain. Default: none,
                which explains the returned passages.

        Raises:
            DocumentNotFound: if no document has that id, or the view does not show it.
            InvalidArgument: if the retriever has no index, or the piece is not in the document.
        """
        from leafspan.lab import explain

        searched, strategy, options = self._call(query)
        return explain(self._explained(piece), searched, strategy, **options, **piece)

    async def aexplanation(self, query: Any, **piece: Any) -> Explanation:
        """Like ``explanation``."""
        from leafspan.lab import aexplain

        searched, strategy, options = self._call(query)
        return await aexplain(self._explained(piece), searched, strategy, **options, **piece)

    def _explained(self, piece: Mapping[str, Any]) -> View:
        check_option_names("explanation", piece, ("document_id", "start", "end", "text"))
        if self.index is None:
            raise InvalidArgument(
                "a retriever must have an index to be explained, got one that searches other sources only"
            )
        return self.index

    def _own_options(self) -> dict[str, Any]:
        """The options that differ from their defaults, with strategies instead of retrievers."""
        own = {name: value for name, (value, default) in self._with_defaults().items() if not _same(value, default)}
        return {name: _each(value, self._unwrapped) for name, value in own.items()}

    def _unwrapped(self, value: object) -> object:
        return self._as_strategy("a retriever", value) if isinstance(value, StrategyRetriever) else value

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        """The strategy's own options, in the strategy's form."""
        return {}

    def _checked_options(self) -> dict[str, Any]:
        """The options in the form in which they are kept, checked by the core's rules."""
        check_index(self.index)
        strategy = self._strategy()
        check_view = getattr(strategy, "check_view", None)
        if check_view is not None and self.index is not None:
            check_view(self.index)
        k = getattr(self, self._name_of_k)
        k = None if k is None else check_whole(self._name_of_k, k, 1)
        limits = Limits.of(k, *(getattr(self, name) for name in CALL_OPTIONS[1:]))
        check_timeout(self.retrieval_timeout, "retrieval_timeout")
        check_choice("filter_policy", self.filter_policy, get_args(FilterPolicy))
        check_flag("explain", self.explain)
        kept = {name: getattr(limits, name) for name in ("candidates", "where", "per_document", "as_of")}
        return {**self._plain_options(strategy), self._name_of_k: k, **kept}

    def _limits(self, where: object = None) -> CallOptions:
        own: dict[str, Any] = {name: getattr(self, name) for name in CALL_OPTIONS[1:]}
        own |= {"k": getattr(self, self._name_of_k), "timeout": self.retrieval_timeout}
        if where is not None:
            own["where"] = self._joined(where)
        return cast(CallOptions, own)

    def _joined(self, where: object) -> Where | None:
        """The filter of a call and this retriever's own."""
        return apply_policy(to_filter(self.where), to_filter(where), self.filter_policy)

    def _part_of(self, whole: StrategyRetriever, context: Any) -> Strategy | None:
        """The retriever as a strategy in another one, None if it searches something else."""
        if self.index is None or self.index == whole.index:
            return at_least(self._filtered(context), self.min_score)
        return None

    def _is_elsewhere(self, whole: StrategyRetriever) -> bool:
        """Whether its results come from another index, whose ids do not exist in the one of ``whole``."""
        return self.index is not None and whole.index is not None and not whole.index.is_of_same_index(self.index)

    def _filtered(self, context: Any = None) -> Strategy:
        return filtered(self._strategy(context), self.where, self.as_of)

    def _search(self, query: Any, strategy: Strategy, options: CallOptions, *, for_several: str) -> Passages:
        """The result of ``View.retrieve``, or of ``leafspan.retrieve`` without an index."""
        if not isinstance(query, str | Query):
            to_query(query, needed=strategy.needs_query, for_several=for_several)
        return (retrieve if self.index is None else self.index.retrieve)(query, strategy, **options)

    async def _asearch(self, query: Any, strategy: Strategy, options: CallOptions, *, for_several: str) -> Passages:
        if not isinstance(query, str | Query):
            to_query(query, needed=strategy.needs_query, for_several=for_several)
        return await (aretrieve if self.index is None else self.index.aretrieve)(query, strategy, **options)

    def _search_many(self, queries: Any, strategy: Strategy, options: CallOptions) -> list[Passages]:
        return (retrieve_many if self.index is None else self.index.retrieve_many)(queries, strategy, **options)

    async def _asearch_many(self, queries: Any, strategy: Strategy, options: CallOptions) -> list[Passages]:
        return await (aretrieve_many if self.index is None else self.index.aretrieve_many)(queries, strategy, **options)


class NamedStrategyRetriever(StrategyRetriever):
    """A retriever of a host for one strategy, ``kind``, whose options it declares."""

    kind: ClassVar[type[Strategy]]
    _last_strategy: LastStrategy
    _conversions: ClassVar[Mapping[str, Callable[[Any, Any], Mapping[str, Any]]]]
    """The functions that make options of the strategy from objects of the host, by the names of their options."""

    def _strategy(self, context: Any = None) -> Strategy:
        return self._last_strategy.of(self.kind, self, self._converted(context))

    def _converted(self, context: Any) -> dict[str, Any]:
        """The options that the strategy needs in another form, such as a language model."""
        converted: dict[str, Any] = {}
        for name in names_to_convert(self.kind):
            value = getattr(self, name)
            if name in self._conversions:
                converted |= {} if value is None else self._conversions[name](value, context)
            elif isinstance(value, Mapping):
                converted[name] = {
                    key: self._as_strategy(f"{name[:-1]} {key!r}", each, context) if isinstance(key, str) else each
                    for key, each in value.items()
                }
            elif name == "base":
                converted[name] = None if value is None else self._as_strategy(name, value, context)
            elif isinstance(value, Sequence) and not isinstance(value, str):
                numbered = enumerate(value, start=1)
                converted[name] = [self._as_strategy(f"{name[:-1]} {number}", each, context) for number, each in numbered]
        return converted

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        return plain_options(self.kind, self, strategy, self._converted(None))


def retriever_tool(retriever: StrategyRetriever, rerankers: Iterable[Mapping[str, Any]] = (), **options: Any) -> AgentTool:
    """A retriever as the tool ``search``, with options of ``Rerank`` for what chooses and reorders its results."""
    if retriever.index is None:
        raise InvalidArgument("retriever must have an index to become a tool, got one that searches other sources only")
    strategy = filtered(retriever._strategy(), retriever.where)
    for each in rerankers:
        strategy = Rerank(base=strategy, **each)
    own: Mapping[str, Any] = {**retriever._limits(), "where": None}  # the strategy has it
    limits = Limits.of(**{name: own[name] for name in CALL_OPTIONS})
    return agent_tool(retriever.index, strategies=strategy, limits=limits, **options)


def _name(retriever: type) -> str:
    return f"{retriever.__module__}.{retriever.__qualname__}"


def _same(value: object, default: object) -> bool:
    with suppress(Exception):  # a comparison may be foreign code, such as an array's
        return value is default or (isinstance(value, bool) == isinstance(default, bool) and bool(value == default))
    return False


def _each(value: object, change: Callable[[object], object]) -> object:
    """Apply ``change`` to a value, or to each value of a list or mapping."""
    if isinstance(value, Mapping):
        return {name: change(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [change(each) for each in value]
    return change(value)
