"""The language of a document."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.lexical import find_language, known_code
from leafspan.values import Document

_KEY = "language"  # under which users name a document's language, and filters find it


def language_of(document: Document) -> str | None:
    """The code of the language that a document is in: as its metadata say, or else as its text looks."""
    return known_code(document.metadata.get(_KEY)) or find_language(document.text)


def with_language(metadata: Mapping[str, object], language: str | None) -> Mapping[str, object]:
    """What filters are matched against: metadata, with the language that was found. The user's own value wins."""
    return metadata if language is None else {_KEY: language, **metadata}
