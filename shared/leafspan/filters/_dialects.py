"""Converts the filters of other libraries: Chroma's ``where``, Haystack's and LlamaIndex's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from leafspan.checks import plain_value, shown
from leafspan.errors import InvalidArgument
from leafspan.filters._builder import filter_from_text
from leafspan.filters._conditions import (
    COMPARISONS,
    DOCUMENT_ID,
    Contains,
    Equal,
    Exists,
    OneOf,
    Ordered,
    Scalar,
    TextMatch,
    Value,
    all_of,
    any_of,
    checked_scalar,
    checked_value,
    instant,
    is_number,
    kind,
)
from leafspan.filters._expression import MOST_LEVELS, Where


def to_filter(thing: object) -> Where | None:
    """The ``Where`` for a filter in any dialect, which keeps its meaning, or None if it allows every document."""
    if thing is None or isinstance(thing, Where):
        return thing
    try:
        return _translated(thing)
    except RecursionError:
        raise InvalidArgument(
            f"where must have at most {MOST_LEVELS} levels of filters inside each other, got more: put filters joined by "
            "the same operator side by side"
        ) from None


def _translated(thing: object) -> Where | None:
    if isinstance(thing, str):
        return filter_from_text(thing)
    if isinstance(thing, Mapping):
        if not thing:
            return None
        is_haystack = len(_KEYS & thing.keys()) >= 2  # a single one may be a key of the user's metadata
        return from_haystack(thing) if is_haystack else from_chroma(thing)
    if is_llamaindex(thing):
        return from_llamaindex(thing) if getattr(thing, "filters", True) else None
    raise InvalidArgument(
        "where must be a filter made with F, its text, a mapping in the dialect of Chroma or Haystack, or LlamaIndex's "
        f"MetadataFilters, got {shown(thing)}"
    )


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
            parts.append(_chroma_logic(key, value))
        elif key.startswith("#"):
            raise refusal(f"the text of a document is no metadata: {key!r}", {key: value})
        else:
            parts.extend(_chroma_conditions(key, value))
    return all_of(parts)


def _chroma_logic(operator: str, operand: object) -> Where:
    """A filter made of other filters."""
    part = {operator: operand}
    if operator == "$not":
        if not isinstance(operand, Mapping):
            raise refusal(f"$not needs a filter, got {shown(operand)}", part)
        return ~from_chroma(operand)
    if operator not in ("$and", "$or"):
        advice = "such an operator belongs under a key" if operator in _CHROMA_OPERATORS else "one of $and, $or, $not"
        raise refusal(f"unknown operator {operator!r}", part, advice)
    if not isinstance(operand, list | tuple) or not operand:
        raise refusal(f"{operator} needs a non-empty list of filters, got {shown(operand)}", part)
    for item in operand:
        if not isinstance(item, Mapping):
            raise refusal(f"{operator} needs a list of filters, got {shown(item)}", part)
    filters = [from_chroma(item) for item in operand]
    return all_of(filters) if operator == "$and" else any_of(filters)


def _chroma_conditions(key: str, value: object) -> list[Where]:
    part = {key: value}
    if isinstance(value, list | tuple):
        raise refusal(
            "a list needs an operator", part, "$in for one of these values, $contains for a member, $eq for all of it"
        )
    if not isinstance(value, Mapping):
        with showing(part):
            return [_CHROMA_OPERATORS["$eq"](key, value)]
    if not value:
        raise refusal("an operator is missing", part, f"one of {_CHROMA_NAMES}")
    filters = []
    for operator, operand in value.items():
        if not isinstance(operator, str) or operator not in _CHROMA_OPERATORS:
            raise refusal(f"unknown operator {operator!r}", part, f"one of {_CHROMA_NAMES}")
        with showing({key: {operator: operand}}, _chroma_advice(key, operator, operand)):
            filters.append(_CHROMA_OPERATORS[operator](key, operand))
    return filters


def _chroma_advice(key: str, operator: str, bound: object) -> str:
    """Advice on comparing texts and dates, which Chroma's dialect cannot."""
    if operator not in _CHROMA_ORDERS or not isinstance(plain_value(bound), str):
        return ""
    return f"texts, such as ISO dates, are compared by F({key!r}) {_CHROMA_ORDERS[operator]} {shown(bound)}"


def _chroma_ordered(operator: str, key: str, bound: object) -> Where:
    if not is_number(plain_value(bound)):
        raise InvalidArgument(f"an order comparison needs a number, got {shown(bound)}")
    return Ordered(key, operator, bound)  # type: ignore[arg-type]


_CHROMA_ORDERS: Mapping[str, str] = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_CHROMA_OPERATORS: Mapping[str, Callable[[str, Any], Where]] = {
    "$eq": Equal,
    "$ne": lambda key, value: ~Equal(key, value),
    **{operator: partial(_chroma_ordered, order) for operator, order in _CHROMA_ORDERS.items()},
    "$in": OneOf,
    "$nin": lambda key, values: ~OneOf(key, values),
    "$contains": Contains,
    "$not_contains": lambda key, member: ~Contains(key, member),
}
_CHROMA_NAMES = ", ".join(_CHROMA_OPERATORS)


_KEYS = frozenset({"field", "operator", "value", "conditions"})
_NO_METADATA = frozenset({"meta", "content", "blob", "score", "embedding", "sparse_embedding"})


def from_haystack(filters: Mapping[object, object]) -> Where:
    """The filter with its meaning in Haystack.

    True equals 1, None means a missing key, NOT matches unless all conditions hold, and two ISO dates are equal if they are
    the same point in time.

    Dates differ from Haystack. Without an offset they are UTC; Haystack gives them the other side's offset. A bound that is
    a text but not an ISO date is an error, and such a document's value does not match; Haystack guesses a date or raises.
    """
    if surplus := filters.keys() - _KEYS:
        raise refusal(f"unknown key {sorted(map(repr, surplus))[0]}", filters, "one of field, operator, value, conditions")
    required = ("field", "operator", "value") if "field" in filters else ("operator", "conditions")
    for name in required:
        if name not in filters:
            raise refusal(f"{name!r} is missing", filters)
    if "field" in filters:
        return _haystack_comparison(filters)
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


def _haystack_comparison(filters: Mapping[object, object]) -> Where:
    operator = filters["operator"]
    if not isinstance(operator, str) or operator not in _HAYSTACK_OPERATORS:
        raise refusal(f"unknown operator {operator!r}", filters, f"one of {', '.join(_HAYSTACK_OPERATORS)}")
    field = filters["field"]
    if not isinstance(field, str) or field in _NO_METADATA:
        raise refusal(f"a field must be 'id' or a key of the metadata, got {shown(field)}", filters)
    key = DOCUMENT_ID if field == "id" else field.removeprefix("meta.")
    with showing(filters):
        return _HAYSTACK_OPERATORS[operator](key, filters["value"])


def _haystack_equal(key: str, value: object) -> Where:
    if value is None:
        return ~Exists(key)
    value = plain_value(value)
    if isinstance(value, str) and instant(value) is not None:
        return Ordered(key, ">=", value) & Ordered(key, "<=", value)  # the same point in time
    return equal(key, value)


def _haystack_one_of(key: str, values: object) -> Where:
    values = _listed(values)
    plain = [value for value in values if not _needs_own_condition(value)]
    others = [_haystack_equal(key, value) for value in values if _needs_own_condition(value)]
    return any_of([one_of(key, plain), *others] if plain else others)


def _needs_own_condition(value: object) -> bool:
    value = plain_value(value)
    return value is None or isinstance(value, list | tuple) or (isinstance(value, str) and instant(value) is not None)


def _haystack_ordered(operator: str, key: str, bound: object) -> Where:
    if bound is None:
        return any_of([])
    bound = plain_value(bound)
    condition = ordered(operator, key, bound)
    if isinstance(bound, str) and instant(bound) is None:
        raise InvalidArgument(f"an order comparison needs a number or an ISO date (YYYY-MM-DD), got {shown(bound)}")
    return condition


def is_llamaindex(thing: object) -> bool:
    """Whether an object has the attributes of a ``MetadataFilters`` or a ``MetadataFilter``."""
    return _is_group(thing) or _is_single(thing)


def from_llamaindex(thing: Any) -> Where:
    """The filter with its meaning in LlamaIndex's in-memory store; groups may be nested.

    ISO dates are compared as points in time; LlamaIndex compares their characters. A document's value for which LlamaIndex
    raises an error does not match.
    """
    if _is_single(thing):
        return _llamaindex_comparison(thing)
    condition = getattr(thing.condition, "value", thing.condition) or "and"
    if condition not in ("and", "or", "not"):
        raise refusal(f"unknown condition {condition!r}", thing, "one of and, or, not")
    for part in thing.filters:
        if not is_llamaindex(part):
            raise refusal(f"a filter must be a MetadataFilter or MetadataFilters, got {shown(part)}", thing)
    parts = [from_llamaindex(part) for part in thing.filters]
    if not parts or condition == "and":  # no filters allow everything, under any condition
        return all_of(parts)
    return any_of(parts) if condition == "or" else ~any_of(parts)


def _is_group(thing: object) -> bool:
    return isinstance(getattr(thing, "filters", None), list | tuple) and hasattr(thing, "condition")


def _is_single(thing: object) -> bool:
    return all(hasattr(thing, name) for name in ("key", "value", "operator"))


def _llamaindex_comparison(thing: Any) -> Where:
    operator = getattr(thing.operator, "value", thing.operator)  # of an enum
    if not isinstance(operator, str) or operator not in _LLAMAINDEX_OPERATORS:
        raise refusal(f"unknown operator {operator!r}", thing, f"one of {', '.join(_LLAMAINDEX_OPERATORS)}")
    if thing.value is None and operator != "is_empty":
        raise refusal(f"operator {operator!r} needs a value, got None", thing, "is_empty asks for a missing key")
    a_list = operator == "contains" and isinstance(thing.value, list | tuple)
    with showing(thing, "use ANY for one of several members, ALL for all of them" if a_list else ""):
        return _LLAMAINDEX_OPERATORS[operator](thing.key, thing.value)


def _member_or_part(key: str, member: object) -> Where:
    member = plain_value(member)
    in_list = contains(key, member)
    return in_list | TextMatch(key, member) if isinstance(member, str) else in_list


def _listed(values: object) -> list[object] | tuple[object, ...]:
    if not isinstance(values, list | tuple):
        raise InvalidArgument(f"a list of values is needed, got {shown(values)}")
    return values


# Conditions of Haystack and LlamaIndex, which compare like Python: True equals 1, and False equals 0. LlamaIndex's filters
# cannot hold a bool, so its users write a number instead.


def equal(key: str, value: object) -> Where:
    """A filter: ``==`` as in Python, also between a bool and the number that equals it, alone or in a list."""
    checked = checked_value(value)
    return any_of(Equal(key, item) for item in (checked, *_python_equals(checked)))


def one_of(key: str, values: Iterable[object]) -> Where:
    """A filter: ``in`` as in Python, for scalars of any types. Without values, no document matches."""
    groups: dict[str, list[Scalar]] = {}
    for value in map(checked_scalar, values):
        for item in (value, *(other for other in _python_equals(value) if not isinstance(other, tuple))):
            groups.setdefault(kind(item), []).append(item)
    return any_of(OneOf(key, tuple(group)) for group in groups.values())


def ordered(operator: str, key: str, bound: object) -> Where:
    """A filter: an order comparison as in Python, of texts, or of numbers and bools."""
    condition = Ordered(key, operator, bound)  # type: ignore[arg-type]
    if not is_number(condition.bound):
        return condition
    bools = [item for item in (False, True) if COMPARISONS[operator](item, condition.bound)]
    return any_of([condition, OneOf(key, tuple(bools))]) if bools else condition


def contains(key: str, member: object) -> Where:
    """A filter: the value is a list with this member, as Python compares."""
    checked = checked_scalar(member)
    return any_of(Contains(key, item) for item in (checked, *_python_equals(checked)) if not isinstance(item, tuple))


def _python_equals(value: Value) -> Sequence[Value]:
    """The equal value of another type, if Python has one: True for 1, and 1 for True."""
    if isinstance(value, tuple):
        members = [other for item in value for other in _python_equals(item) if not isinstance(other, tuple)]
        return [tuple(members)] if len(members) == len(value) else []
    if isinstance(value, bool):
        return [int(value)]
    return [bool(value)] if is_number(value) and value in (0, 1) else []


_HAYSTACK_OPERATORS: Mapping[str, Callable[[str, Any], Where]] = {
    "==": _haystack_equal,
    "!=": lambda key, value: ~_haystack_equal(key, value),
    **{operator: partial(_haystack_ordered, operator) for operator in COMPARISONS},
    "in": _haystack_one_of,
    "not in": lambda key, values: ~_haystack_one_of(key, values),
}
_LLAMAINDEX_OPERATORS: Mapping[str, Callable[[str, Any], Where]] = {
    "==": equal,
    "!=": lambda key, value: ~equal(key, value),
    **{operator: partial(ordered, operator) for operator in COMPARISONS},
    "in": lambda key, values: one_of(key, _listed(values)),
    "nin": lambda key, values: ~one_of(key, _listed(values)),
    "any": lambda key, members: any_of(_member_or_part(key, member) for member in _listed(members)),
    "all": lambda key, members: all_of([Exists(key), *(_member_or_part(key, member) for member in _listed(members))]),
    "contains": _member_or_part,
    "text_match": TextMatch,
    "text_match_insensitive": lambda key, part: TextMatch(key, part, ignore_case=True),
    "is_empty": lambda key, _: ~Exists(key) | Equal(key, ""),
}


_LONGEST = 200  # characters of a part in a message


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
