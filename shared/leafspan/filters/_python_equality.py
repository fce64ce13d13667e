"""Conditions in the meaning of Haystack and LlamaIndex, which leave comparing to Python: there, True is 1 and False is 0.

LlamaIndex's filters cannot even hold a bool, so a number is the only way to ask for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leafspan.filters._conditions import Contains, Equal, OneOf, Ordered
from leafspan.filters._expression import Where
from leafspan.filters._logic import any_of
from leafspan.filters._ordering import COMPARISONS
from leafspan.filters._values import Scalar, Value, checked_scalar, checked_value, is_number, kind


def equal(key: str, value: object) -> Where:
    """``==`` of Python: also the bool that equals the number, and the other way round, in a list as well."""
    checked = checked_value(value)
    return any_of(Equal(key, item) for item in (checked, *_twin(checked)))


def one_of(key: str, values: Iterable[object]) -> Where:
    """``in`` of Python, for scalars of any types; of none, no document matches."""
    groups: dict[str, list[Scalar]] = {}
    for value in map(checked_scalar, values):
        for item in (value, *(twin for twin in _twin(value) if not isinstance(twin, tuple))):
            groups.setdefault(kind(item), []).append(item)
    return any_of(OneOf(key, tuple(group)) for group in groups.values())


def ordered(key: str, operator: str, bound: object) -> Where:
    """An order comparison of Python, among numbers and the bools that equal some, or among texts."""
    condition = Ordered(key, operator, bound)  # type: ignore[arg-type]
    if not is_number(condition.bound):
        return condition
    bools = [item for item in (False, True) if COMPARISONS[operator](item, condition.bound)]
    return any_of([condition, OneOf(key, tuple(bools))]) if bools else condition


def contains(key: str, member: object) -> Where:
    """``in`` of Python, where the document's value is a list."""
    checked = checked_scalar(member)
    return any_of(Contains(key, item) for item in (checked, *_twin(checked)) if not isinstance(item, tuple))


def _twin(value: Value) -> Sequence[Value]:
    """The value of another type that Python calls equal, if there is one."""
    if isinstance(value, tuple):
        twins = [twin for item in value for twin in _twin(item) if not isinstance(twin, tuple)]
        return [tuple(twins)] if len(twins) == len(value) else []
    if isinstance(value, bool):
        return [int(value)]
    return [bool(value)] if is_number(value) and value in (0, 1) else []
