"""The conditions on a single key, and filters that join any number of them, also 0."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from leafspan.checks import is_missing, is_reserved, plain_value, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._expression import And, Or, Where, flattened
from leafspan.filters._values import (
    COMPARISONS,
    Scalar,
    Value,
    canonical,
    checked_scalar,
    checked_scalars,
    checked_value,
    instant,
    is_number,
)

DOCUMENT_ID = "doc_id"
"""The key of a document's id in filters. It is reserved, so no metadata can have it."""

_STORED = frozenset({str, int, bool})


def value_of(key: str, metadata: Mapping[str, object], document_id: str) -> object:
    """The document's value of a key as it is stored. None if the document does not have the key, or no value for it."""
    if key == DOCUMENT_ID:
        return document_id
    value = metadata.get(key)
    if type(value) in _STORED:
        return value
    if isinstance(value, list | tuple):
        return [*map(plain_value, value)] or None
    return None if is_missing(value) else plain_value(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Condition(Where):
    """A filter that depends on the value of a single key. A key or operand that no document can have is refused."""

    key: str

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key:
            raise InvalidArgument(f"the key must be a non-empty str, got {shown(self.key)}")
        if self.key != DOCUMENT_ID and is_reserved(self.key):
            raise InvalidArgument(f"no document can have the metadata key {self.key!r}, which is reserved")
        object.__setattr__(self, "key", str.__str__(self.key))
        self._clean()

    def _clean(self) -> None:
        """Check the operands, and replace them by plain, immutable values."""

    @abstractmethod
    def holds(self, value: object) -> bool:
        """Whether a document with this value, which is not None, matches. A document without the key never matches."""

    def matches(self, metadata: Mapping[str, object], document_id: str = "") -> bool:
        value = value_of(self.key, metadata, document_id)
        return value is not None and self.holds(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Equal(Condition):
    """A filter: the value equals ``value``. Ints equal floats by value, a bool equals no number, a list an equal list."""

    value: Value
    needs_parentheses: ClassVar[bool] = True

    def _clean(self) -> None:
        object.__setattr__(self, "value", checked_value(self.value))

    def holds(self, value: object) -> bool:
        return canonical(value) == canonical(self.value)

    @property
    def negated_text(self) -> str:
        return self._text("!=")

    def __repr__(self) -> str:
        return self._text("==")

    def _text(self, operator: str) -> str:
        return f"F({self.key!r}) {operator} {list(self.value) if isinstance(self.value, tuple) else self.value!r}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OneOf(Condition):
    """A filter: the value equals one of ``values``, which have one type. Without values, no document matches."""

    values: tuple[Scalar, ...]

    def _clean(self) -> None:
        object.__setattr__(self, "values", checked_scalars(self.values))

    def holds(self, value: object) -> bool:
        return canonical(value) in map(canonical, self.values)

    @property
    def negated_text(self) -> str:
        return f"F({self.key!r}).not_in({list(self.values)})"

    def __repr__(self) -> str:
        return f"F({self.key!r}).in_({list(self.values)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ordered(Condition):
    """A filter: the value compares with ``bound`` as the ``operator`` says. Values of another type do not match.

    If ``bound`` is an ISO date, values are compared as points in time, and texts that are no ISO dates do not match. Other
    texts are compared by code points.
    """

    operator: str
    bound: Scalar
    needs_parentheses: ClassVar[bool] = True

    def _clean(self) -> None:
        bound = None if isinstance(self.bound, list | tuple) else checked_scalar(self.bound)
        if bound is None or isinstance(bound, bool):
            raise InvalidArgument(f"an order comparison needs a number or a str, got {shown(self.bound)}")
        object.__setattr__(self, "bound", bound)

    def holds(self, value: object) -> bool:
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
    """A filter: the value is a list with this ``member``."""

    member: Scalar

    def _clean(self) -> None:
        object.__setattr__(self, "member", checked_scalar(self.member))

    def holds(self, value: object) -> bool:
        return isinstance(value, list | tuple) and canonical(self.member) in map(canonical, value)

    def __repr__(self) -> str:
        return f"F({self.key!r}).contains({self.member!r})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextMatch(Condition):
    """A filter: the value is a text that contains ``part``. With ``ignore_case``, upper and lower case are the same."""

    part: str
    ignore_case: bool = False

    def _clean(self) -> None:
        part = plain_value(self.part)
        if not isinstance(part, str):
            raise InvalidArgument(f"a text match needs a str, got {shown(part)}")
        object.__setattr__(self, "part", part)
        object.__setattr__(self, "ignore_case", bool(self.ignore_case))

    def holds(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        return self.part.lower() in value.lower() if self.ignore_case else self.part in value

    def __repr__(self) -> str:
        return f"F({self.key!r}).text_match({self.part!r}{', ignore_case=True' if self.ignore_case else ''})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exists(Condition):
    """A filter: the document has the key."""

    def holds(self, value: object) -> bool:
        return True

    def __repr__(self) -> str:
        return f"F({self.key!r}).exists()"


def all_of(filters: Iterable[Where]) -> Where:
    """A filter: all of these match. Without any, every document matches."""
    parts = flattened(And, filters)
    if not parts:
        return Exists(DOCUMENT_ID)  # every document has an id
    return And(parts) if len(parts) > 1 else parts[0]


def any_of(filters: Iterable[Where]) -> Where:
    """A filter: at least one of these matches. Without any, no document matches."""
    parts = flattened(Or, filters)
    if not parts:
        return OneOf(DOCUMENT_ID, ())
    return Or(parts) if len(parts) > 1 else parts[0]
