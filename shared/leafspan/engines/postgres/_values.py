"""Converts texts and metadata for PostgreSQL, whose texts cannot contain null characters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# U+001A, "substitute", marks an escape.
_ESCAPES = str.maketrans({"\x1a": "\x1aS", "\0": "\x1aN"})


def stored(text: str) -> str:
    """Return a text without null characters. ``loaded`` reverses it."""
    return text.translate(_ESCAPES) if "\0" in text or "\x1a" in text else text


def loaded(text: str) -> str:
    """Return the text that was passed to ``stored``."""
    return text.replace("\x1aN", "\0").replace("\x1aS", "\x1a") if "\x1a" in text else text


def stored_metadata(metadata: Mapping[str, Any]) -> str:
    """Return metadata as JSON. Numbers keep their type, since PostgreSQL stores the JSON as text."""
    return json.dumps(_changed(dict(metadata), stored), ensure_ascii=False, separators=(",", ":"))


def loaded_metadata(content: Any) -> dict[str, Any]:
    """Return the metadata that were passed to ``stored_metadata``, from the driver's parsed JSON."""
    return _changed(content, loaded)  # type: ignore[no-any-return]


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _changed(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(each, change) for each in value]
    return value
