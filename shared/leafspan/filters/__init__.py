"""One filter language over the metadata of documents, and the dialects of Chroma, Haystack and LlamaIndex read into it."""

from leafspan.filters.builder import F
from leafspan.filters.columns import Columns
from leafspan.filters.dialects import to_filter
from leafspan.filters.expression import Where
from leafspan.filters.implications import implied
from leafspan.filters.policies import FilterPolicy, apply_policy

__all__ = ["F", "Where", "to_filter", "apply_policy", "FilterPolicy", "implied", "Columns"]
