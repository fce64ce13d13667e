"""What the retrievers of all hosts have in common: a strategy, plain values, and explanations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from leafspan.checks import check_option_names
from leafspan.errors import InvalidArgument
from leafspan.hosting._options import LastStrategy, own_options, plain_options, read_retriever, write_retriever
from leafspan.retrieval import CallOptions, Passages, aretrieve, aretrieve_many, retrieve, retrieve_many
from leafspan.strategies import DEFAULT, Strategy, at_least, filtered, to_query, to_strategy
from leafspan.values import Query
from leafspan.view import View

if TYPE_CHECKING:
    from leafspan.lab import Explanation


class StrategyRetriever:
    """A retriever of a host that runs a strategy."""

    index: View | None

    @classmethod
    def _kind(cls) -> type[Strategy] | None:
        """Class of the retriever's strategy, None for any."""
        return getattr(cls, "kind", None)

    @abstractmethod
    def _as_strategy(self, name: str, thing: Any) -> Strategy:
        """A base as a strategy; errors call the base ``name``."""

    @abstractmethod
    def _asked(self, query: Any) -> tuple[Any, Strategy, CallOptions]:
        """The core's query, the strategy and the call's options for a host's query."""

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
        return write_retriever(self, self._kind(), self._own_options(), given)

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
        return cls(index=index, **read_retriever(cls, cls._kind(), data, given))  # type: ignore[call-arg]

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

        asked, strategy, options = self._asked(query)
        return explain(self._explained(piece), asked, strategy, **options, **piece)

    async def aexplanation(self, query: Any, **piece: Any) -> Explanation:
        """Like ``explanation``."""
        from leafspan.lab import aexplain

        asked, strategy, options = self._asked(query)
        return await aexplain(self._explained(piece), asked, strategy, **options, **piece)

    def _own_options(self) -> dict[str, Any]:
        """The options that differ from their defaults, with strategies instead of retrievers."""
        return own_options(self._with_defaults(), self._unwrapped)

    def _unwrapped(self, value: object) -> object:
        return self._as_strategy("a retriever", value) if isinstance(value, StrategyRetriever) else value

    def _explained(self, piece: Mapping[str, Any]) -> View:
        check_option_names("explanation", piece, ("document_id", "start", "end", "text"))
        if self.index is None:
            raise InvalidArgument(
                "a retriever must have an index to be explained, got one that searches other sources only"
            )
        return self.index


class NamedStrategyRetriever(StrategyRetriever):
    """A retriever of a host for one strategy, ``kind``, whose options it declares."""

    kind: ClassVar[type[Strategy]]
    _last_strategy: LastStrategy

    @abstractmethod
    def _converted(self, asked: Any) -> dict[str, Any]:
        """The options that the strategy needs in another form, such as a language model."""

    def _strategy(self, asked: Any = None) -> Strategy:
        return self._last_strategy.of(self.kind, self, self._converted(asked))

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        return plain_options(self.kind, self, strategy, self._converted(None))


def search(index: View | None, query: Any, strategy: Strategy, options: CallOptions, *, for_several: str) -> Passages:
    """The result of ``View.retrieve``, or of ``leafspan.retrieve`` without an index."""
    if not isinstance(query, str | Query):
        to_query(query, needed=strategy.needs_query, for_several=for_several)
    return (retrieve if index is None else index.retrieve)(query, strategy, **options)


async def asearch(
    index: View | None, query: Any, strategy: Strategy, options: CallOptions, *, for_several: str
) -> Passages:
    """Like ``search``."""
    if not isinstance(query, str | Query):
        to_query(query, needed=strategy.needs_query, for_several=for_several)
    return await (aretrieve if index is None else index.aretrieve)(query, strategy, **options)


def search_many(index: View | None, queries: Any, strategy: Strategy, options: CallOptions) -> list[Passages]:
    """The result of ``View.retrieve_many``, or of ``leafspan.retrieve_many`` without an index."""
    return (retrieve_many if index is None else index.retrieve_many)(queries, strategy, **options)


async def asearch_many(index: View | None, queries: Any, strategy: Strategy, options: CallOptions) -> list[Passages]:
    """Like ``search_many``."""
    return await (aretrieve_many if index is None else index.aretrieve_many)(queries, strategy, **options)


def as_base(strategy: Strategy, where: object, min_score: float | None) -> Strategy:
    """The strategy of a retriever as the base of another one: with its filter and its lowest score."""
    return at_least(filtered(strategy, where), min_score)


def searched_index(index: View | None) -> View:
    """The index of a retriever that becomes a tool."""
    if index is None:
        raise InvalidArgument("retriever must have an index to become a tool, got one that searches other sources only")
    return index


def is_elsewhere(own: View | None, other: View | None) -> bool:
    """Whether a leafspan retriever's results come from another index, whose ids do not exist in this one."""
    return own is not None and other is not None and not own.is_of_same_index(other)


def searches_the_same(own: View | None, other: View | None) -> bool:
    """Whether a base's results can stay as they are, since it searches the same index or no index."""
    return other is None or other == own


def strategy_of(index: View | None, strategy: object) -> Strategy:
    """The strategy from a strategy, a name or a configuration, or the index's own strategy for None."""
    if strategy is None and index is not None:
        return index.default_strategy
    return DEFAULT if strategy is None else to_strategy("strategy", strategy)
