"""Filters on the metadata of documents: one language, which Chroma's, Haystack's and LlamaIndex's filters become."""

from leafspan.filters._builder import F
from leafspan.filters._columns import Columns
from leafspan.filters._constants import constant
from leafspan.filters._dialects import to_filter
from leafspan.filters._expression import And, Where
from leafspan.filters._implications import implied
from leafspan.filters._instants import instant
from leafspan.filters._policies import FilterPolicy, apply_policy

__all__ = ["And", "Columns", "F", "FilterPolicy", "Where", "apply_policy", "constant", "implied", "instant", "to_filter"]
