"""Embedders of any library behind one interface, and operations on their vectors."""

from leafspan.embedding._blending import blend
from leafspan.embedding._cache import EmbeddingCache, find_cache
from leafspan.embedding._checked import CheckedEmbedder
from leafspan.embedding._embedders import (
    Embed,
    Embedder,
    EmbedderIdentity,
    check_vectors,
    embed_in_batches,
    to_embedder,
)
from leafspan.embedding._normalize import normalize, without_extremes
from leafspan.embedding._soft_matches import WORD_VECTORS, WordRows, WordVectors, soft_matches
from leafspan.embedding._wordllama import default_embedder

__all__ = [
    "WORD_VECTORS",
    "WordRows",
    "WordVectors",
    "CheckedEmbedder",
    "Embed",
    "Embedder",
    "EmbedderIdentity",
    "EmbeddingCache",
    "blend",
    "check_vectors",
    "default_embedder",
    "embed_in_batches",
    "find_cache",
    "normalize",
    "soft_matches",
    "to_embedder",
    "without_extremes",
]
