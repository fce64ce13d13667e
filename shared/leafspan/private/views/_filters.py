"""Masks filters, so that they match masked metadata."""

from __future__ import annotations

from collections.abc import Callable

from leafspan.errors import InvalidArgument
from leafspan.filters import (
    DOCUMENT_ID,
    Condition,
    Contains,
    Equal,
    Exists,
    OneOf,
    Ordered,
    TextMatch,
    Where,
    any_of,
    with_conditions,
)
from leafspan.private.pseudonyms import Disguise, Place


def masked_filter(
    where: Where | None,
    disguise: Disguise,
    masked_id: Callable[[str], str],
    met: Callable[[tuple[Place, ...]], object] = lambda _: None,
) -> Where | None:
    """Replace entities in the filter's keys and values by pseudonyms. Masking twice gives the same filter.

    Raises:
        InvalidArgument: if the filter compares the order of texts with entities.
    """

    def value(clear: object) -> object:
        masked, places = disguise.value(clear)
        for each in places:
            met(each)
        return masked

    def change(condition: Condition) -> Where:
        if condition.key in disguise.clear:
            return condition
        if condition.key != DOCUMENT_ID:
            return _masked(condition, disguise.name(condition.key), disguise, value)
        return _with_values(condition, condition.key, lambda value: masked_id(value) if isinstance(value, str) else value)

    return None if where is None else with_conditions(where, change)


def _masked(condition: Condition, key: str, disguise: Disguise, value: Callable[[object], object]) -> Where:
    match condition:
        case Ordered():
            if isinstance(condition.bound, str) and disguise.name(condition.bound) != condition.bound:
                raise InvalidArgument(
                    f"F({key!r}) {condition.operator}: pseudonyms have no order, so a private view cannot compare with a "
                    "text that has an entity"
                )
            return Ordered(key, condition.operator, condition.bound)
        case TextMatch():
            return TextMatch(key, disguise.name(condition.part), condition.ignore_case)
        case Exists():
            return Exists(key)
    return _with_values(condition, key, value)


def _with_values(condition: Condition, key: str, change: Callable[[object], object]) -> Where:
    match condition:
        case Equal():
            value = change(condition.value)
            return Equal(key, tuple(value) if isinstance(value, list) else value)  # type: ignore[arg-type]
        case OneOf():
            values = tuple(map(change, condition.values))
            if values == condition.values:
                return OneOf(key, condition.values)
            return any_of(Equal(key, value) for value in values)  # type: ignore[arg-type]
        case Contains():
            return Contains(key, change(condition.member))  # type: ignore[arg-type]
    return condition
