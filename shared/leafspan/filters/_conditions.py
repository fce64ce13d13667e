"""The conditions on a single key, the values in them, and filters that join any number of conditions, also 0."""

from __future__ import annotations

import math
import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, TypeAlias, TypeGuard

from leafspan.checks import is_missing, is_reserved, plain_value, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._expression import And, Or, Where, flattened

DOCUMENT_ID = "doc_id"  # the key of a document's id in filters; it is reserved, so no metadata can have it

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | tuple[Scalar, ...]

_STORED = frozenset({str, int, bool})
_MOST_BITS = 1024  # of an int: a float is not larger


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


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is an int or a float, but not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def kind(value: object) -> str:
    """``"text"``, ``"number"``, ``"bool"``, ``"list"`` or ``"other"``. Values of different kinds are never equal."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "list" if isinstance(value, list | tuple) else "other"


def canonical(value: object) -> Hashable:
    """A key that is equal for two values only if filters treat them as equal: 1 equals 1.0, and True does not equal 1."""
    if isinstance(value, list | tuple):
        return "list", tuple(canonical(member) for member in value)
    kind_of_value = kind(value)
    return kind_of_value, repr(value) if kind_of_value == "other" else value


def checked_scalar(value: object) -> Scalar:
    """The value as a plain str, int, float or bool; other scalars are converted as in metadata."""
    value = plain_value(value)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArgument(f"a number must be finite, got {shown(value)}")
        return float(value)
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise InvalidArgument(f"a number must have at most {_MOST_BITS} bits, got one of {value.bit_length()}")
        return int(value)
    raise InvalidArgument(f"a value must be a str, int, float, bool or date, got {shown(value)}")


def checked_scalars(values: object) -> tuple[Scalar, ...]:
    """The values of a list or another collection as plain values of one type. The values of a set are sorted."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0:
        raise InvalidArgument(f"a list of values is needed, got {shown(values)}")
    items = tuple(checked_scalar(value) for value in values)
    if len({kind(item) for item in items}) > 1:
        names = sorted({type(item).__name__ for item in items})
        raise InvalidArgument(f"the values of a list must have one type, got {' and '.join(names)}")
    return tuple(sorted(items)) if isinstance(values, set | frozenset) else items


def checked_value(value: object) -> Value:
    """The value for an equality: a scalar, or a tuple for a list."""
    if not isinstance(value, list | tuple):
        return checked_scalar(value)
    if not value:
        raise InvalidArgument("no document has an empty list as a value: ask whether the key exists")
    return checked_scalars(value)


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ]|\Z)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str) -> int | None:
    """Microseconds since 1970 (UTC) of an ISO date or datetime, None for any other text.

    Without an offset a time is UTC; a date means its first moment. Only the extended format with a full date is a date:
    ``2025-02-03``, ``2025-02-03T10:00``, ``2025-02-03 10:00:00+02:00``. ``2025`` and ``20250203`` may be something else,
    and sort correctly as texts anyway.
    """
    if not _DATE.match(text):
        return None
    ends_day = text[11:13] == "24"  # 24:00, the end of a day in ISO 8601, which Python reads only since version 3.14
    try:
        moment = datetime.fromisoformat(f"{text[:11]}00{text[13:]}" if ends_day else text)
    except ValueError:
        return None
    if ends_day and (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) + (86_400_000_000 if ends_day else 0)


def checked_moment(name: str, moment: object, *, now: bool = False) -> str:
    """The moment as an ISO text. With ``now`` it may also be ``"now"``."""
    text = plain_value(moment)
    if isinstance(text, str) and ((now and text == "now") or instant(text) is not None):
        return text
    more = ', or "now"' if now else ""
    raise InvalidArgument(f'{name} must be a date, a datetime, an ISO text such as "2024-05-01"{more}, got {shown(moment)}')
