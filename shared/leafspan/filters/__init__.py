"""Filters on the metadata of documents: one language, to which filters of Chroma, Haystack and LlamaIndex are converted."""

from leafspan.filters._builder import F, filter_from_option, valid_documents
from leafspan.filters._columns import Columns, FilterPolicy, apply_policy, constant, failing_parts, implied, with_conditions
from leafspan.filters._conditions import (
    DOCUMENT_ID,
    Condition,
    Contains,
    Equal,
    Exists,
    OneOf,
    Ordered,
    TextMatch,
    any_of,
    checked_moment,
    instant,
)
from leafspan.filters._dialects import to_filter
from leafspan.filters._expression import And, Where

__all__ = [
    "DOCUMENT_ID",
    "And",
    "Columns",
    "Condition",
    "Contains",
    "Equal",
    "Exists",
    "F",
    "FilterPolicy",
    "OneOf",
    "Ordered",
    "TextMatch",
    "Where",
    "any_of",
    "apply_policy",
    "checked_moment",
    "constant",
    "failing_parts",
    "filter_from_option",
    "implied",
    "instant",
    "to_filter",
    "valid_documents",
    "with_conditions",
]
