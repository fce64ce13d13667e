"""What a strategy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from leafspan.checks import shown, what_makes_one
from leafspan.errors import InvalidArgument
from leafspan.strategies._context import RetrievalContext
from leafspan.strategies._requests import StrategyFlow
from leafspan.values import Candidate, Query


class Strategy(ABC):
    """A frozen value that finds spans of leaves. Subclass it to write a strategy of your own.

    ``retrieve`` is the one method that a subclass must have. It is written once, without I/O, as a generator of requests.
    The properties below say what is special about a strategy; a subclass overrides those that differ. See
    docs/write-a-strategy.md for a worked example.
    """

    # No protocol, since the defaults below must be inherited: a flag that is looked up by name would be misspelt unnoticed.
    __slots__ = ()

    @abstractmethod
    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """A list of candidates for each query, best first.

        Args:
            queries: The questions, each as text, vector, or both.
            context: How much is wanted, and of which documents.
        """

    @property
    def finds_spans(self) -> bool:
        """Whether candidates can be longer than one leaf, or summaries, so that nothing can merge or widen them."""
        return False

    @property
    def needs_query(self) -> bool:
        """Whether a query is needed. If not, None and a blank text are queries, too."""
        return True

    @property
    def returns_all(self) -> bool:
        """Whether everything that is found is returned when neither ``k`` nor ``budget`` is given. By default, five are.

        Such a strategy is run again with more candidates until it finds nothing new.
        """
        return False

    @property
    def looks_once(self) -> bool:
        """Whether it finds the same for any number of candidates, so that it is not run again with more of them."""
        return False

    @property
    def query_instruction(self) -> str:
        """Text that stands before each query when it is embedded."""
        return ""

    def with_summaries(self) -> Strategy | None:
        """The same strategy, searching the summaries of the trees as well; None if it cannot."""
        return None


def check_strategy(name: str, value: object) -> None:
    """Check that an option is a strategy.

    Raises:
        InvalidArgument: if it is not.
    """
    if not isinstance(value, Strategy):
        forgotten = isinstance(value, type) and issubclass(value, Strategy)
        hint = "; did you forget the parentheses?" if forgotten else what_makes_one(value, ["as_strategy"])
        raise InvalidArgument(f"{name} must be a strategy such as Vector(), got {shown(value)}{hint}")
