"""Haystack's dialect: ``{"field": "meta.year", "operator": ">=", "value": 2020}``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from leafspan.checks import plain_value, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import DOCUMENT_ID, Exists, Ordered
from leafspan.filters._expression import Where
from leafspan.filters._instants import instant
from leafspan.filters._logic import all_of, any_of
from leafspan.filters._python_equality import equal, one_of, ordered
from leafspan.filters._refusals import refusal, showing

_KEYS = frozenset({"field", "operator", "value", "conditions"})
_NO_METADATA = frozenset({"meta", "content", "blob", "score", "embedding", "sparse_embedding"})


def is_haystack(mapping: Mapping[object, object]) -> bool:
    """Whether a mapping has at least two of Haystack's four keys. A single one may be a key of the user's metadata."""
    return len(_KEYS & mapping.keys()) >= 2


def from_haystack(filters: Mapping[object, object]) -> Where:
    """The filter with its meaning in Haystack.

    True equals 1, None means a missing key, NOT matches unless all conditions hold, and two ISO dates are equal if they are
    the same point in time.

    Dates differ from Haystack. Without an offset they are UTC; Haystack gives them the other side's offset. A bound that is
    a text but not an ISO date is an error, and such a document's value does not match; Haystack guesses a date or raises.

    Raises:
        InvalidArgument: if the filter breaks a rule. The message shows the wrong part.
    """
    if surplus := filters.keys() - _KEYS:
        raise refusal(f"unknown key {sorted(map(repr, surplus))[0]}", filters, "one of field, operator, value, conditions")
    required = ("field", "operator", "value") if "field" in filters else ("operator", "conditions")
    for name in required:
        if name not in filters:
            raise refusal(f"{name!r} is missing", filters)
    return _comparison(filters) if "field" in filters else _logic(filters)


def _logic(filters: Mapping[object, object]) -> Where:
    operator, conditions = filters["operator"], filters["conditions"]
    if operator not in ("AND", "OR", "NOT"):
        raise refusal(f"unknown operator {operator!r}", filters, "one of AND, OR, NOT")
    if not isinstance(conditions, list | tuple):
        raise refusal(f"{operator} needs a list of conditions, got {shown(conditions)}", filters)
    for condition in conditions:
        if not isinstance(condition, Mapping):
            raise refusal(f"a condition must be a mapping, got {shown(condition)}", filters)
    parts = [from_haystack(condition) for condition in conditions]
    if operator == "OR":
        return any_of(parts)
    return all_of(parts) if operator == "AND" else ~all_of(parts)


def _comparison(filters: Mapping[object, object]) -> Where:
    operator = filters["operator"]
    if not isinstance(operator, str) or operator not in _OPERATORS:
        raise refusal(f"unknown operator {operator!r}", filters, f"one of {', '.join(_OPERATORS)}")
    field = filters["field"]
    if not isinstance(field, str) or field in _NO_METADATA:
        raise refusal(f"a field must be 'id' or a key of the metadata, got {shown(field)}", filters)
    key = DOCUMENT_ID if field == "id" else field.removeprefix("meta.")
    with showing(filters):
        return _OPERATORS[operator](key, filters["value"])


def _equal(key: str, value: object) -> Where:
    if value is None:
        return ~Exists(key)
    value = plain_value(value)
    if isinstance(value, str) and instant(value) is not None:
        return Ordered(key, ">=", value) & Ordered(key, "<=", value)  # the same point in time
    return equal(key, value)


def _one_of(key: str, values: object) -> Where:
    if not isinstance(values, list | tuple):
        raise InvalidArgument(f"a list of values is needed, got {shown(values)}")
    plain = [value for value in values if not _needs_own_condition(value)]
    others = [_equal(key, value) for value in values if _needs_own_condition(value)]
    return any_of([one_of(key, plain), *others] if plain else others)


def _needs_own_condition(value: object) -> bool:
    value = plain_value(value)
    return value is None or isinstance(value, list | tuple) or (isinstance(value, str) and instant(value) is not None)


def _ordered(operator: str) -> Callable[[str, Any], Where]:
    def make(key: str, bound: object) -> Where:
        if bound is None:
            return any_of([])
        bound = plain_value(bound)
        condition = ordered(key, operator, bound)
        if isinstance(bound, str) and instant(bound) is None:
            raise InvalidArgument(f"an order comparison needs a number or an ISO date (YYYY-MM-DD), got {shown(bound)}")
        return condition

    return make


_OPERATORS: Mapping[str, Callable[[str, Any], Where]] = {
    "==": _equal,
    "!=": lambda key, value: ~_equal(key, value),
    ">": _ordered(">"),
    ">=": _ordered(">="),
    "<": _ordered("<"),
    "<=": _ordered("<="),
    "in": _one_of,
    "not in": lambda key, values: ~_one_of(key, values),
}
