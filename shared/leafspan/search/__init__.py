"""Finds leaves: by vector search, by lexical search, or in the order of documents and texts."""

from leafspan.search._indexes import SearchIndexes, page_of_leaves
from leafspan.search._mentions import find_mentions
from leafspan.search._scanning import Scan
from leafspan.search._soft_matches import soft_matches_of
from leafspan.search._vectors import begin_scan, leaf_vectors, misses_some, nearest_leaves, similarities

__all__ = [
    "Scan",
    "SearchIndexes",
    "begin_scan",
    "find_mentions",
    "leaf_vectors",
    "misses_some",
    "nearest_leaves",
    "page_of_leaves",
    "similarities",
    "soft_matches_of",
]
