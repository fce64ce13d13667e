"""Filters with other conditions."""

from __future__ import annotations

from collections.abc import Callable

from leafspan.filters._conditions import Condition
from leafspan.filters._expression import And, Not, Or, Where
from leafspan.filters._logic import all_of, any_of


def with_conditions(where: Where, change: Callable[[Condition], Where]) -> Where:
    """The filter with each condition replaced by ``change(condition)``."""
    if isinstance(where, And):
        return all_of(with_conditions(part, change) for part in where.parts)
    if isinstance(where, Or):
        return any_of(with_conditions(part, change) for part in where.parts)
    if isinstance(where, Not):
        return ~with_conditions(where.part, change)
    return change(where) if isinstance(where, Condition) else where
