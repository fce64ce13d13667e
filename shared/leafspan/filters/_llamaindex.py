"""LlamaIndex's ``MetadataFilters`` and ``MetadataFilter``, recognised by their attributes, without importing LlamaIndex."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from leafspan.checks import plain_value, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import Equal, Exists, TextMatch
from leafspan.filters._expression import Where
from leafspan.filters._logic import all_of, any_of, none_of
from leafspan.filters._python_equality import contains, equal, one_of, ordered
from leafspan.filters._refusals import refusal, showing


def is_llamaindex(thing: object) -> bool:
    """Whether an object has the attributes of a ``MetadataFilters`` or a ``MetadataFilter``."""
    return _is_group(thing) or _is_single(thing)


def from_llamaindex(thing: Any) -> Where:
    """The filter with its meaning in LlamaIndex's in-memory store; groups may be nested.

    ISO dates are compared as points in time; LlamaIndex compares their characters. A document's value for which LlamaIndex
    raises an error does not match.

    Raises:
        InvalidArgument: if the filter breaks a rule. The message shows the wrong part.
    """
    if _is_single(thing):
        return _comparison(thing)
    condition = _member_value(thing.condition) or "and"
    if condition not in ("and", "or", "not"):
        raise refusal(f"unknown condition {condition!r}", thing, "one of and, or, not")
    for part in thing.filters:
        if not is_llamaindex(part):
            raise refusal(f"a filter must be a MetadataFilter or MetadataFilters, got {shown(part)}", thing)
    parts = [from_llamaindex(part) for part in thing.filters]
    if not parts or condition == "and":  # no filters allow everything, under any condition
        return all_of(parts)
    return any_of(parts) if condition == "or" else none_of(parts)


def _is_group(thing: object) -> bool:
    return isinstance(getattr(thing, "filters", None), list | tuple) and hasattr(thing, "condition")


def _is_single(thing: object) -> bool:
    return all(hasattr(thing, name) for name in ("key", "value", "operator"))


def _member_value(name: Any) -> object:
    """The value of a LlamaIndex enum's member; any other object unchanged."""
    return getattr(name, "value", name)


def _comparison(thing: Any) -> Where:
    operator = _member_value(thing.operator)
    if not isinstance(operator, str) or operator not in _OPERATORS:
        raise refusal(f"unknown operator {operator!r}", thing, f"one of {', '.join(_OPERATORS)}")
    if thing.value is None and operator != "is_empty":
        raise refusal(f"operator {operator!r} needs a value, got None", thing, "is_empty asks for a missing key")
    a_list = operator == "contains" and isinstance(thing.value, list | tuple)
    with showing(thing, "use ANY for one of several members, ALL for all of them" if a_list else ""):
        return _OPERATORS[operator](thing.key, thing.value)


def _one_of(key: str, values: object) -> Where:
    return one_of(key, _listed(values))


def _contains(key: str, member: object) -> Where:
    member = plain_value(member)
    in_list = contains(key, member)
    return in_list | TextMatch(key, member) if isinstance(member, str) else in_list


def _contains_any(key: str, members: object) -> Where:
    return any_of(_contains(key, member) for member in _listed(members))


def _contains_all(key: str, members: object) -> Where:
    return all_of([Exists(key), *(_contains(key, member) for member in _listed(members))])


def _listed(values: object) -> list[object] | tuple[object, ...]:
    if not isinstance(values, list | tuple):
        raise InvalidArgument(f"a list of values is needed, got {shown(values)}")
    return values


_OPERATORS: Mapping[str, Callable[[str, Any], Where]] = {
    "==": equal,
    "!=": lambda key, value: ~equal(key, value),
    ">": lambda key, bound: ordered(key, ">", bound),
    ">=": lambda key, bound: ordered(key, ">=", bound),
    "<": lambda key, bound: ordered(key, "<", bound),
    "<=": lambda key, bound: ordered(key, "<=", bound),
    "in": _one_of,
    "nin": lambda key, values: ~_one_of(key, values),
    "any": _contains_any,
    "all": _contains_all,
    "contains": _contains,
    "text_match": TextMatch,
    "text_match_insensitive": lambda key, part: TextMatch(key, part, ignore_case=True),
    "is_empty": lambda key, _: ~Exists(key) | Equal(key, ""),
}
