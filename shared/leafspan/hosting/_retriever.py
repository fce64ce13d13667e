"""What the retrievers of all hosts have in common: a strategy, plain values, and explanations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from leafspan.checks import check_option_names
from leafspan.errors import InvalidArgument
from leafspan.hosting._options import make_strategy, plain_options
from leafspan.hosting._plain import own_options, read_retriever, write_retriever
from leafspan.retrieval import CallOptions
from leafspan.strategies import Strategy
from leafspan.view import View

if TYPE_CHECKING:
    from leafspan.lab import Explanation


class StrategyRetriever:
    """A retriever of a host that stands for a strategy."""

    index: View | None

    @classmethod
    def _kind(cls) -> type[Strategy] | None:
        """Class of the strategy that the retriever stands for, None for any."""
        return getattr(cls, "kind", None)

    @abstractmethod
    def _as_strategy(self, name: str, thing: Any) -> Strategy:
        """A base, called ``name`` in errors, as a strategy."""

    @abstractmethod
    def _asked(self, query: Any) -> tuple[Any, Strategy, CallOptions]:
        """What is asked for a query of the host's: the core's query, the strategy, and the options of the call."""

    @abstractmethod
    def _with_defaults(self) -> Mapping[str, tuple[object, object]]:
        """The options that plain values have, each with its default."""

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
        return cls(index=index, **read_retriever(cls, cls._kind(), data, given))  # type: ignore[call-arg]

    def explanation(self, query: Any, **piece: Any) -> Explanation:
        """Like ``leafspan.lab.explain``, but with the retriever's own strategy and limits.

        Args:
            query: What the retriever is asked.
            piece: ``document_id``, and ``text`` or ``start`` and ``end``, of what is not returned. Default: none, what is
                returned is explained.

        Raises:
            DocumentNotFound: if there is no document of that id, or the view does not show it.
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
        """The options that differ from their defaults, with strategies in the place of retrievers."""
        return own_options(self._with_defaults(), self._unwrapped)

    def _unwrapped(self, value: object) -> object:
        return self._as_strategy("a retriever", value) if isinstance(value, StrategyRetriever) else value

    def _explained(self, piece: Mapping[str, Any]) -> View:
        check_option_names("explanation", piece, ("document_id", "start", "end", "text"))
        if self.index is None:
            raise InvalidArgument(
                "a retriever must have an index to be explained, got one that searches other sources alone"
            )
        return self.index


class NamedStrategyRetriever(StrategyRetriever):
    """A retriever of a host for one strategy, ``kind``, whose options it declares."""

    kind: ClassVar[type[Strategy]]

    @abstractmethod
    def _converted(self, asked: Any) -> dict[str, Any]:
        """The options that the strategy has in another form, such as a language model."""

    def _strategy(self, asked: Any = None) -> Strategy:
        return make_strategy(self.kind, self, self._converted(asked))

    def _plain_options(self, strategy: Strategy) -> dict[str, Any]:
        return plain_options(self.kind, self, strategy, self._converted(None))
