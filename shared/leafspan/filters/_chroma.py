"""Chroma's ``where`` dialect: ``{"year": {"$gte": 2020}}``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from leafspan.checks import plain_value, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import Contains, Equal, OneOf, Ordered, all_of, any_of
from leafspan.filters._expression import Where
from leafspan.filters._values import is_number

_LONGEST = 200  # characters of a part in a message


def from_chroma(where: Mapping[object, object]) -> Where:
    """The filter with its meaning in Chroma; a few more forms are allowed.

    One mapping may have several keys or operators, which must all hold. ``$and`` and ``$or`` may have a single part,
    ``$in`` and ``$nin`` an empty list, and ``$eq`` and ``$ne`` a whole list. There is ``$not``.

    Ints equal floats by value. Chroma cuts 1.5 to 1 before it compares it with ints.
    """
    parts = []
    for key, value in where.items():
        if not isinstance(key, str) or not key:
            raise refusal(f"a key must be a non-empty str, got {shown(key)}", where)
        if key.startswith("$"):
            parts.append(_logic(key, value))
        elif key.startswith("#"):
            raise refusal(f"the text of a document is no metadata: {key!r}", {key: value})
        else:
            parts.extend(_conditions(key, value))
    return all_of(parts)


def _logic(operator: str, operand: object) -> Where:
    """A filter made of other filters."""
    part = {operator: operand}
    if operator == "$not":
        if not isinstance(operand, Mapping):
            raise refusal(f"$not needs a filter, got {shown(operand)}", part)
        return ~from_chroma(operand)
    if operator not in ("$and", "$or"):
        advice = "such an operator belongs under a key" if operator in _OPERATORS else "one of $and, $or, $not"
        raise refusal(f"unknown operator {operator!r}", part, advice)
    if not isinstance(operand, list | tuple) or not operand:
        raise refusal(f"{operator} needs a non-empty list of filters, got {shown(operand)}", part)
    for item in operand:
        if not isinstance(item, Mapping):
            raise refusal(f"{operator} needs a list of filters, got {shown(item)}", part)
    filters = [from_chroma(item) for item in operand]
    return all_of(filters) if operator == "$and" else any_of(filters)


def _conditions(key: str, value: object) -> list[Where]:
    """The conditions on one key."""
    part = {key: value}
    if isinstance(value, list | tuple):
        raise refusal(
            "a list needs an operator", part, "$in for one of these values, $contains for a member, $eq for all of it"
        )
    if not isinstance(value, Mapping):
        with showing(part):
            return [_OPERATORS["$eq"](key, value)]
    if not value:
        raise refusal("an operator is missing", part, f"one of {_NAMES}")
    filters = []
    for operator, operand in value.items():
        if not isinstance(operator, str) or operator not in _OPERATORS:
            raise refusal(f"unknown operator {operator!r}", part, f"one of {_NAMES}")
        with showing({key: {operator: operand}}, _advice(key, operator, operand)):
            filters.append(_OPERATORS[operator](key, operand))
    return filters


def _advice(key: str, operator: str, bound: object) -> str:
    """Advice on comparing texts and dates, which Chroma's dialect cannot."""
    if operator not in _ORDERS or not isinstance(plain_value(bound), str):
        return ""
    return f"texts, such as ISO dates, are compared by F({key!r}) {_ORDERS[operator]} {shown(bound)}"


def _ordered(operator: str, key: str, bound: object) -> Where:
    if not is_number(plain_value(bound)):
        raise InvalidArgument(f"an order comparison needs a number, got {shown(bound)}")
    return Ordered(key, operator, bound)  # type: ignore[arg-type]


_ORDERS: Mapping[str, str] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_OPERATORS: Mapping[str, Callable[[str, Any], Where]] = {
    "$eq": Equal,
    "$ne": lambda key, value: ~Equal(key, value),
    **{operator: partial(_ordered, order) for operator, order in _ORDERS.items()},
    "$in": OneOf,
    "$nin": lambda key, values: ~OneOf(key, values),
    "$contains": Contains,
    "$not_contains": lambda key, member: ~Contains(key, member),
}
_NAMES = ", ".join(_OPERATORS)


def refusal(rule: str, part: object, advice: str = "") -> InvalidArgument:
    """An error with the message ``where: {rule} in {part}; {advice}``. A long part is shortened."""
    try:
        text = repr(part)
    except Exception as error:  # nested too deep, or a user's own repr fails
        text = f"a part whose repr fails with {type(error).__name__}"
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return InvalidArgument(f"where: {rule} in {shown}{f'; {advice}' if advice else ''}")


@contextmanager
def showing(part: object, advice: str = "") -> Iterator[None]:
    """Add the ``part`` of the filter, and advice, to every InvalidArgument that is raised inside."""
    try:
        yield
    except InvalidArgument as error:
        raise refusal(str(error), part, advice) from None
