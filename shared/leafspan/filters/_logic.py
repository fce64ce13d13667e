"""Filters made of any number of filters, also of none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_

from leafspan.filters._conditions import DOCUMENT_ID, Exists, OneOf
from leafspan.filters._expression import Where


def all_of(filters: Iterable[Where]) -> Where:
    """Their conjunction. Of no filters it is a filter that every document matches."""
    parts = list(filters)
    return reduce(and_, parts) if parts else Exists(DOCUMENT_ID)  # every document has an id


def any_of(filters: Iterable[Where]) -> Where:
    """Their disjunction. Of no filters it is a filter that no document matches."""
    parts = list(filters)
    return reduce(or_, parts) if parts else OneOf(DOCUMENT_ID, ())


def none_of(filters: Iterable[Where]) -> Where:
    """A filter that matches where none of these does. Of no filters, it matches every document."""
    return ~any_of(filters)
