"""The filters that look at one key each: the leaves of an expression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from leafspan.errors import InvalidArgument
from leafspan.filters._expression import Where
from leafspan.filters._instants import instant
from leafspan.filters._ordering import COMPARISONS, order_bound
from leafspan.filters._values import Scalar, Value, canonical, checked_scalar, checked_scalars, checked_value, is_number
from leafspan.reserved import is_reserved

DOCUMENT_ID = "doc_id"
"""The key under which filters find the id of a document; no document's own metadata can use it."""


def value_of(key: str, metadata: Mapping[str, object], document_id: str) -> object:
    """What a condition on ``key`` looks at; None where the document has no such key."""
    if key == DOCUMENT_ID:
        return document_id
    value = metadata.get(key)
    return None if isinstance(value, list | tuple) and not value else value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Condition(Where):
    """A filter that depends on the value of one key alone.

    Subclasses check and clean their operands when they are made, and raise InvalidArgument with the rule and the value.
    """

    key: str

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key:
            raise InvalidArgument(f"the key must be a non-empty str, got {self.key!r}")
        if self.key != DOCUMENT_ID and is_reserved(self.key):
            raise InvalidArgument(f"no document can have the metadata key {self.key!r}, which is reserved")
        object.__setattr__(self, "key", str.__str__(self.key))
        self._clean()

    def _clean(self) -> None:
        """Replaces the operands by plain, immutable values."""

    def holds(self, value: object) -> bool:
        """Whether a document whose value is this one matches; never for None, which stands for a missing key."""
        return value is not None and self._holds(value)

    @abstractmethod
    def _holds(self, value: object) -> bool:
        """What ``holds`` says about a value that is there."""

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return self.holds(value_of(self.key, metadata, document_id))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Equal(Condition):
    """The value equals ``value``: numbers by value, a bool never a number, a list only an equal list."""

    value: Value

    def _clean(self) -> None:
        object.__setattr__(self, "value", checked_value(self.value))

    def _holds(self, value: object) -> bool:
        return canonical(value) == canonical(self.value)

    def text(self, operator: str) -> str:
        """The comparison, as Python text."""
        return f"F({self.key!r}) {operator} {list(self.value) if isinstance(self.value, tuple) else self.value!r}"

    @property
    def negated_text(self) -> str:
        """A comparison by ``!=``."""
        return self.text("!=")

    def __repr__(self) -> str:
        return self.text("==")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OneOf(Condition):
    """The value equals one of ``values``, scalars of one type; of no values, never."""

    values: tuple[Scalar, ...]

    def _clean(self) -> None:
        object.__setattr__(self, "values", checked_scalars(self.values))

    def _holds(self, value: object) -> bool:
        return canonical(value) in map(canonical, self.values)

    def text(self, method: str) -> str:
        """The call, as Python text."""
        return f"F({self.key!r}).{method}({list(self.values)})"

    @property
    def negated_text(self) -> str:
        """A call of ``not_in``."""
        return self.text("not_in")

    def __repr__(self) -> str:
        return self.text("in_")

    needs_parentheses: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ordered(Condition):
    """The value is ``<``, ``<=``, ``>`` or ``>=`` than ``bound``; only values of its type have an order with it.

    Where ``bound`` is an ISO date, values are compared with it as points in time, and those that are no ISO dates never
    match. Other texts are compared by code points.
    """

    operator: str
    bound: Scalar

    def _clean(self) -> None:
        object.__setattr__(self, "bound", order_bound(self.bound))

    def _holds(self, value: object) -> bool:
        compare = COMPARISONS[self.operator]
        if not isinstance(self.bound, str):
            return is_number(value) and compare(value, self.bound)
        if not isinstance(value, str):
            return False
        limit = instant(self.bound)
        if limit is None:
            return compare(value, self.bound)
        moment = instant(value)
        return moment is not None and compare(moment, limit)

    def __repr__(self) -> str:
        return f"F({self.key!r}) {self.operator} {self.bound!r}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contains(Condition):
    """The value is a list, and ``member`` is in it."""

    member: Scalar

    def _clean(self) -> None:
        object.__setattr__(self, "member", checked_scalar(self.member))

    def _holds(self, value: object) -> bool:
        return isinstance(value, list | tuple) and canonical(self.member) in map(canonical, value)

    def __repr__(self) -> str:
        return f"F({self.key!r}).contains({self.member!r})"

    needs_parentheses: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextMatch(Condition):
    """The value is a text, and ``part`` occurs in it."""

    part: str
    ignore_case: bool = False

    def _clean(self) -> None:
        if not isinstance(self.part, str):
            raise InvalidArgument(f"a text match needs a str, got {self.part!r}")
        object.__setattr__(self, "part", str.__str__(self.part))
        object.__setattr__(self, "ignore_case", bool(self.ignore_case))

    def _holds(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        return self.part.lower() in value.lower() if self.ignore_case else self.part in value

    def __repr__(self) -> str:
        return f"F({self.key!r}).text_match({self.part!r}{', ignore_case=True' if self.ignore_case else ''})"

    needs_parentheses: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exists(Condition):
    """There is a value."""

    def _holds(self, value: object) -> bool:
        return True

    def __repr__(self) -> str:
        return f"F({self.key!r}).exists()"

    needs_parentheses: ClassVar[bool] = False
