"""The builder: ``F("year") >= 2020`` is a filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Never

from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import Contains, Equal, Exists, OneOf, Ordered, TextMatch
from leafspan.filters._expression import Where
from leafspan.filters._logic import all_of, any_of
from leafspan.filters._values import checked_scalars


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class F:
    """A key of the metadata, to be compared: ``(F("year") >= 2020) & ~F("tags").contains("draft")``.

    ``F("doc_id")`` is the document's id. A document without the key matches ``!=``, ``not_in`` and everything else that
    negates, and nothing that asserts. ``docs/filters.md`` has the whole table.

    Raises:
        InvalidArgument: by every method, if the key or the value cannot be one of a document.
    """

    key: str
    __hash__ = None  # type: ignore[assignment]  # a set would ask whether two keys are equal, and get a filter

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", Exists(self.key).key)  # checked, and a plain str

    def __repr__(self) -> str:
        return f"F({self.key!r})"

    def __eq__(self, value: object) -> Where:  # type: ignore[override]
        """The value is equal: numbers by value, True never 1, a list only an equal list."""
        return self._made(lambda: Equal(self.key, value))  # type: ignore[arg-type]

    def __ne__(self, value: object) -> Where:  # type: ignore[override]
        """Not ``==``, so documents without the key match."""
        return ~(self == value)

    def __lt__(self, bound: object) -> Where:
        """Numbers among numbers; texts among texts by code points, ISO dates by time."""
        return self._ordered("<", bound)

    def __le__(self, bound: object) -> Where:
        """Like ``<``, or the same number, text or time."""
        return self._ordered("<=", bound)

    def __gt__(self, bound: object) -> Where:
        """Like ``<``, the other way round."""
        return self._ordered(">", bound)

    def __ge__(self, bound: object) -> Where:
        """Like ``>``, or the same number, text or time."""
        return self._ordered(">=", bound)

    def in_(self, values: Iterable[object]) -> Where:
        """The value equals one of these scalars of one type; of none, no document matches."""
        return self._made(lambda: OneOf(self.key, values))  # type: ignore[arg-type]

    def not_in(self, values: Iterable[object]) -> Where:
        """Not ``in_``, so documents without the key match; with no values, every document does."""
        return ~self.in_(values)

    def contains(self, member: object) -> Where:
        """The value is a list that has this member."""
        return self._made(lambda: Contains(self.key, member))  # type: ignore[arg-type]

    def contains_any(self, members: Iterable[object]) -> Where:
        """The value is a list that has one of these members; of none, no document matches."""
        return self._made(lambda: any_of(Contains(self.key, member) for member in checked_scalars(members)))

    def contains_all(self, members: Iterable[object]) -> Where:
        """The value is a list that has all of these members; with no members, every document matches."""
        return self._made(lambda: all_of(Contains(self.key, member) for member in checked_scalars(members)))

    def text_match(self, part: str, *, ignore_case: bool = False) -> Where:
        """The value is a text in which this part occurs; case counts, unless ``ignore_case``."""
        return self._made(lambda: TextMatch(self.key, part, ignore_case))

    def exists(self) -> Where:
        """The document has the key."""
        return Exists(self.key)

    def __invert__(self) -> Never:
        raise TypeError(f"{self!r} is no filter yet: ~{self!r}.exists() is for documents without this key")

    def __and__(self, other: object) -> Never:
        raise TypeError(
            f"{self!r} is no filter yet, or stands beside & or | without parentheses: write "
            '(F("a") == 1) & (F("b") == 2) with each comparison in its own, or '
            f"{self!r}.exists() for documents with this key"
        )

    __rand__ = __or__ = __ror__ = __and__

    def _ordered(self, operator: str, bound: object) -> Where:
        return self._made(lambda: Ordered(self.key, operator, bound))  # type: ignore[arg-type]

    def _made(self, make: Callable[[], Where]) -> Where:
        try:
            return make()
        except InvalidArgument as error:
            raise InvalidArgument(f"F({self.key!r}): {error}") from None
