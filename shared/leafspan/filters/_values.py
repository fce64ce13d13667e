"""The values in filters, and their equality."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias, TypeGuard

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
    """The value as a plain str, int, float or bool.

    Other scalars are converted as in metadata: see ``plain_value``.

    Raises:
        InvalidArgument: if it is not a scalar, or not finite.
    """
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
    """The values of a list or another collection as plain values of one type. The values of a set are sorted.

    Raises:
        InvalidArgument: if it is not a collection, or its values have more than one type; ints and floats may be mixed.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0:
        raise InvalidArgument(f"a list of values is needed, got {shown(values)}")
    items = tuple(checked_scalar(value) for value in values)
    if len({kind(item) for item in items}) > 1:
        names = sorted({type(item).__name__ for item in items})
        raise InvalidArgument(f"the values of a list must have one type, got {' and '.join(names)}")
    return tuple(sorted(items)) if isinstance(values, set | frozenset) else items


def checked_value(value: object) -> Value:
    """The value for an equality: a scalar, or a tuple for a list.

    Raises:
        InvalidArgument: if the value is impossible in a document, such as an empty list.
    """
    if not isinstance(value, list | tuple):
        return checked_scalar(value)
    if not value:
        raise InvalidArgument("no document has an empty list as a value: ask whether the key exists")
    return checked_scalars(value)
