"""The language of a document."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.lexical import find_language, known_code
from leafspan.values import Document

_KEY = "language"  # where users put a document's language, and filters find it


def language_of(document: Document, expected: str | None = "en") -> str | None:
    """Return the code of a document's language, from its metadata or else from its text: see ``find_language``."""
    return known_code(document.metadata.get(_KEY)) or find_language(document.text, expected=expected)


def with_language(metadata: Mapping[str, object], language: str | None) -> Mapping[str, object]:
    """Return the metadata that filters match: with the detected language, unless the user's own value exists."""
    return metadata if language is None else {_KEY: language, **metadata}
