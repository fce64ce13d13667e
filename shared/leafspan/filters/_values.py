"""The values in filters: their equality, their order, and the points in time that ISO dates stand for."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeGuard

from leafspan.checks import plain_value, shown
from leafspan.errors import InvalidArgument

_MOST_BITS = 1024  # of an int: a float is not larger

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | tuple[Scalar, ...]


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
