"""Documents' metadata: which values can be stored, and the language among them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from leafspan.checks import NotStorable, is_reserved, shown, stored_value
from leafspan.errors import InvalidDocument
from leafspan.lexical import find_language, known_code
from leafspan.values import Document

MOST_VALUES = 5_000
"""The most values of a document's metadata. Chroma's log accepts a record with more than 5,461, but its tables refuse it
and all later writes. The rest is for leafspan's own values and a view's filter."""

MOST_CHARACTERS = 10_000_000  # the most characters of a document's metadata: they are stored with each leaf
_MOST_LEVELS = 100  # of nested mappings
_NOT_STORABLE = "(not storable)"  # the key of a hash


def copy_metadata(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return a copy of metadata that the caller may change. The original is shared, and filters use it."""
    return {key: list(value) if isinstance(value, list) else value for key, value in metadata.items()}


def title_in(metadata: Mapping[str, object]) -> str | None:
    """Return the title in metadata, or None if it is missing or not a text."""
    title = metadata.get("title")
    return title if isinstance(title, str) and title else None


def clean_metadata(document_id: str, metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata as they will be stored.

    Empty values are left out: None, an empty list, NaN, and NaT and NA of pandas. Tuples become lists, and scalars what
    ``plain_value`` says.
    """
    if not isinstance(metadata, Mapping):
        raise InvalidDocument(f"metadata of document {shown(document_id)} must be a mapping, got {type(metadata).__name__}")
    cleaned = {}
    for key, value in metadata.items():
        if not isinstance(key, str) or not key:
            raise InvalidDocument(
                f"metadata keys must be non-empty strings, got {shown(key)} in document {shown(document_id)}"
            )
        if is_reserved(key):
            raise InvalidDocument(
                f"metadata key {shown(key)} of document {shown(document_id)} is reserved for what leafspan says of a "
                f"passage; give it another name first, such as metadata['own_{key}'] = metadata.pop({key!r})"
            )
        try:
            key.encode()
            stored = stored_value(value)
        except NotStorable as error:
            raise InvalidDocument(
                f"metadata {shown(key)} of document {shown(document_id)} must be a str, a finite int or float, a bool, a "
                f"date, or a list of one of these types, got {error}{f'; {error.remedy}' if error.remedy else ''}"
            ) from None
        except UnicodeEncodeError as error:
            raise InvalidDocument(
                f"metadata {shown(key)} of document {shown(document_id)} must be valid Unicode: {error}"
            ) from None
        if stored is not None:
            cleaned[key] = stored
    check_size(document_id, cleaned)
    return cleaned


def check_size(document_id: str, metadata: Mapping[str, object]) -> None:
    """Check that engines can store clean metadata with a leaf."""
    values = characters = 0
    for key, value in metadata.items():
        items = value if isinstance(value, list) else [value]
        values += len(items)
        characters += len(key) + sum(len(item) for item in items if isinstance(item, str))
    for most, count, unit in ((MOST_VALUES, values, "values"), (MOST_CHARACTERS, characters, "characters")):
        if count > most:
            each = ", where each item of a list is one" if unit == "values" else ""
            raise InvalidDocument(
                f"the metadata of document {shown(document_id)} must have at most {most:,} {unit}{each}, got {count:,}; "
                "put what is only read into the text, or leave it out"
            )


def storable(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the metadata as they would be stored, flattened, with one hash for all that cannot be stored."""
    try:
        return clean_metadata("", flatten(metadata))
    except InvalidDocument:
        storable_part = {key: value for key, value in metadata.items() if _is_storable({key: value})}
    if not _is_storable(storable_part):  # each alone can be stored, but not all together
        storable_part = {}
    others = [(key, value) for key, value in metadata.items() if key not in storable_part]
    return {**storable_part, _NOT_STORABLE: hashlib.sha256(ascii(others).encode()).hexdigest()}


def _is_storable(metadata: Mapping[str, object]) -> bool:
    try:
        clean_metadata("", metadata)
    except InvalidDocument:
        return False
    return True


def flatten(metadata: Mapping[str, object]) -> dict[str, object]:
    """Flatten nested metadata: ``{"a": {"b": 1}, "c": [[2], [3]]}`` becomes ``{"a.b": 1, "c.0": [2], "c.1": [3]}``."""
    flat: dict[str, object] = {}
    for key, value in _leaf_values(metadata, 1):
        if key in flat:
            raise InvalidDocument(f"metadata have two values for {shown(key)} when they are flattened; rename one of them")
        flat[key] = value
    return flat


def _leaf_values(metadata: Mapping[str, object], level: int) -> Iterator[tuple[str, object]]:
    if level > _MOST_LEVELS:
        raise InvalidDocument(f"metadata must have at most {_MOST_LEVELS} levels of values inside each other, got more")
    for key, value in metadata.items():
        if (inside := _inside(value)) is not None:
            yield from (
                (f"{key}.{inner if isinstance(inner, str) else shown(inner)}", each)
                for inner, each in _leaf_values(inside, level + 1)
            )
        else:
            yield key, value


def _inside(value: object) -> Mapping[str, object] | None:
    """Return a nested value's items by key or number, or None for any other value."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in value):
        return {str(number): item for number, item in enumerate(value)}
    return None


_KEY = "language"  # where users put a document's language, and filters find it


def language_of(document: Document, expected: str | None = "en") -> str | None:
    """Return the code of a document's language, from its metadata or else from its text: see ``find_language``."""
    return known_code(document.metadata.get(_KEY)) or find_language(document.text, expected=expected)


def with_language(metadata: Mapping[str, object], language: str | None) -> Mapping[str, object]:
    """Return the metadata that filters match: with the detected language, unless the user's own value exists."""
    return metadata if language is None else {_KEY: language, **metadata}
