"""Names that leafspan and Chroma reserve: a user's document cannot use them."""

from __future__ import annotations

STRUCTURE_KEY = "leafspan"
"""The metadata key for the place of a leaf, or for the record of a summary."""

RESERVED_KEYS = frozenset({"doc_id", "start", "end", "layer", "covers", "score", "trace", STRUCTURE_KEY})
"""The metadata keys that leafspan sets itself, on stored leaves or on results in LangChain and LlamaIndex."""

RESERVED_ID_PREFIX = "leafspan:"
"""The first characters of the ids of leafspan's own records."""

GENERATOR = "leafspan"
"""The generator that leafspan's HTML pages name, which distinguishes them from users' documents."""


def is_reserved(key: str) -> bool:
    """Whether a metadata key is reserved by leafspan or Chroma, so that a document cannot have it."""
    return key in RESERVED_KEYS or key.startswith(("chroma:", "#", "$"))
