"""Filters made of any number of filters, which may be 0."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_

from leafspan.filters._conditions import DOCUMENT_ID, Exists, OneOf
from leafspan.filters._expression import Where


def all_of(filters: Iterable[Where]) -> Where:
    """A filter: all of these match. Without any, every document matches."""
    parts = list(filters)
    return reduce(and_, parts) if parts else Exists(DOCUMENT_ID)  # every document has an id


def any_of(filters: Iterable[Where]) -> Where:
    """A filter: at least one of these matches. Without any, no document matches."""
    parts = list(filters)
    return reduce(or_, parts) if parts else OneOf(DOCUMENT_ID, ())


def none_of(filters: Iterable[Where]) -> Where:
    """A filter: none of these matches. Without any, every document matches."""
    return ~any_of(filters)
