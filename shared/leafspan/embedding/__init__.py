"""Embedders of any library behind one interface, and operations on their vectors."""

from leafspan.embedding._cache import EmbeddingCache, find_cache
from leafspan.embedding._checked import CheckedEmbedder
from leafspan.embedding._embedder import Embed, Embedder, EmbedderIdentity, embed_in_batches, to_embedder
from leafspan.embedding._named import default_embedder, is_english
from leafspan.embedding._vectors import (
    QUESTION_ERROR,
    Codes,
    blend,
    check_vectors,
    normalize,
    rotated,
    signs_of,
    without_extremes,
)

__all__ = [
    "CheckedEmbedder",
    "Codes",
    "Embed",
    "Embedder",
    "EmbedderIdentity",
    "EmbeddingCache",
    "QUESTION_ERROR",
    "blend",
    "check_vectors",
    "default_embedder",
    "embed_in_batches",
    "find_cache",
    "is_english",
    "normalize",
    "rotated",
    "signs_of",
    "to_embedder",
    "without_extremes",
]
