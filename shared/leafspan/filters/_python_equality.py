"""Conditions as in Haystack and LlamaIndex, which compare like Python: True equals 1, and False equals 0.

LlamaIndex's filters cannot hold a bool, so users have to write a number instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leafspan.filters._conditions import Contains, Equal, OneOf, Ordered
from leafspan.filters._expression import Where
from leafspan.filters._logic import any_of
from leafspan.filters._ordering import COMPARISONS
from leafspan.filters._values import Scalar, Value, checked_scalar, checked_value, is_number, kind


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


def ordered(key: str, operator: str, bound: object) -> Where:
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
