"""Joins any number of filters, also 0."""

from __future__ import annotations

from collections.abc import Iterable

from leafspan.filters._conditions import DOCUMENT_ID, Exists, OneOf
from leafspan.filters._expression import And, Or, Where, flattened


def all_of(filters: Iterable[Where]) -> Where:
    """A filter: all of these match. Without any, every document matches."""
    parts = flattened(And, filters)
    if not parts:
        return Exists(DOCUMENT_ID)  # every document has an id
    return And(parts) if len(parts) > 1 else parts[0]


def any_of(filters: Iterable[Where]) -> Where:
    """A filter: at least one of these matches. Without any, no document matches."""
    parts = flattened(Or, filters)
    if not parts:
        return OneOf(DOCUMENT_ID, ())
    return Or(parts) if len(parts) > 1 else parts[0]


def none_of(filters: Iterable[Where]) -> Where:
    """A filter: none of these matches. Without any, every document matches."""
    return ~any_of(filters)
