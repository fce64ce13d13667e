"""Names that belong to leafspan and to Chroma: no document of a user can have them."""

from __future__ import annotations

STRUCTURE_KEY = "leafspan"
"""The metadata key of a leaf or a summary under which its place is stored."""

RESERVED_KEYS = frozenset({"doc_id", "start", "end", "layer", "covers", "score", "trace", STRUCTURE_KEY})
"""Metadata keys that results carry in both frameworks, so that a document cannot use them for itself."""

RESERVED_ID_PREFIX = "leafspan:"
"""The first characters of the ids of the package's own records."""


def is_reserved(key: str) -> bool:
    """Whether a document cannot have this metadata key, because it is Chroma's or leafspan's."""
    return key in RESERVED_KEYS or key.startswith(("chroma:", "#", "$"))
