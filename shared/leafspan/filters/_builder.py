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
    """A key of the metadata. Comparing it gives a filter: ``(F("year") >= 2020) & ~F("tags").contains("draft")``.

    A document without the key matches ``!=``, ``not_in`` and every other negation, and no other comparison. See
    docs/filters.md for a table of all comparisons.

    Args:
        key: Name of the key. ``"doc_id"`` is the document's id, ``"language"`` its detected language.

    Raises:
        InvalidArgument: if no document can have the key. Each comparison raises it if no document can have the value.
    """

    key: str
    __hash__ = None  # type: ignore[assignment]  # in a set, two keys would be compared by ==, which gives a filter

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", Exists(self.key).key)  # Exists checks the key, and makes it a plain str

    def __repr__(self) -> str:
        return f"F({self.key!r})"

    def __eq__(self, value: object) -> Where:  # type: ignore[override]
        """A filter: the value equals this one. Ints equal floats by value, True is not 1, a list equals an equal list."""
        return self._filter(lambda: Equal(self.key, value))  # type: ignore[arg-type]

    def __ne__(self, value: object) -> Where:  # type: ignore[override]
        """A filter: the negation of ``==``. Documents without the key match."""
        return ~(self == value)

    def __lt__(self, bound: object) -> Where:
        """A filter: the value is less. Numbers compare with numbers, ISO dates by time, other texts by code points."""
        return self._ordered("<", bound)

    def __le__(self, bound: object) -> Where:
        """A filter: the value is less, as for ``<``, or the same number, text or time."""
        return self._ordered("<=", bound)

    def __gt__(self, bound: object) -> Where:
        """A filter: the value is greater. Values compare as for ``<``."""
        return self._ordered(">", bound)

    def __ge__(self, bound: object) -> Where:
        """A filter: the value is greater, as for ``>``, or the same number, text or time."""
        return self._ordered(">=", bound)

    def in_(self, values: Iterable[object]) -> Where:
        """A filter: the value equals one of these.

        Args:
            values: Values of one type; ints and floats may be mixed. Without values, no document matches.
        """
        return self._filter(lambda: OneOf(self.key, values))  # type: ignore[arg-type]

    def not_in(self, values: Iterable[object]) -> Where:
        """A filter: the negation of ``in_``. Documents without the key match.

        Args:
            values: Values of one type; ints and floats may be mixed. Without values, every document matches.
        """
        return ~self.in_(values)

    def contains(self, member: object) -> Where:
        """A filter: the value is a list with this member."""
        return self._filter(lambda: Contains(self.key, member))  # type: ignore[arg-type]

    def contains_any(self, members: Iterable[object]) -> Where:
        """A filter: the value is a list with one of these members.

        Args:
            members: Values of one type. Without values, no document matches.
        """
        return self._filter(lambda: any_of(Contains(self.key, member) for member in checked_scalars(members)))

    def contains_all(self, members: Iterable[object]) -> Where:
        """A filter: the value is a list with all of these members.

        Args:
            members: Values of one type. Without values, every document matches.
        """
        return self._filter(lambda: all_of(Contains(self.key, member) for member in checked_scalars(members)))

    def text_match(self, part: str, *, ignore_case: bool = False) -> Where:
        """A filter: the value is a text that contains this part.

        Args:
            part: The part.
            ignore_case: Whether upper and lower case are the same. Default: False.
        """
        return self._filter(lambda: TextMatch(self.key, part, ignore_case))

    def exists(self) -> Where:
        """A filter: the document has the key."""
        return Exists(self.key)

    def __invert__(self) -> Never:
        raise TypeError(f"{self!r} is not a filter yet: ~{self!r}.exists() is for documents without this key")

    def __and__(self, other: object) -> Never:
        raise TypeError(
            f"{self!r} is not a filter yet, or lacks parentheses beside & or |: write "
            '(F("a") == 1) & (F("b") == 2) with each comparison in parentheses, or '
            f"{self!r}.exists() for documents with this key"
        )

    __rand__ = __or__ = __ror__ = __and__

    def _ordered(self, operator: str, bound: object) -> Where:
        return self._filter(lambda: Ordered(self.key, operator, bound))  # type: ignore[arg-type]

    def _filter(self, make: Callable[[], Where]) -> Where:
        """The filter that ``make`` makes. An error names the key."""
        try:
            return make()
        except InvalidArgument as error:
            raise InvalidArgument(f"F({self.key!r}): {error}") from None
