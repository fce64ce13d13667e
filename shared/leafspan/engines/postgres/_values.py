"""Texts and metadata as PostgreSQL can store them: it has no null character in a text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# U+001A, "substitute", stands before what it replaces.
_ESCAPES = str.maketrans({"\x1a": "\x1aS", "\0": "\x1aN"})


def stored(text: str) -> str:
    """A text without null characters, from which ``loaded`` makes the same text."""
    return text.translate(_ESCAPES) if "\0" in text or "\x1a" in text else text


def loaded(text: str) -> str:
    """The text that was given to ``stored``."""
    return text.replace("\x1aN", "\0").replace("\x1aS", "\x1a") if "\x1a" in text else text


def stored_metadata(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON. Numbers keep their type, since it is stored as it is written."""
    return json.dumps(_changed(dict(metadata), stored), ensure_ascii=False, separators=(",", ":"))


def loaded_metadata(content: Any) -> dict[str, Any]:
    """The metadata that were given to ``stored_metadata``, from what the driver has made of their JSON."""
    return _changed(content, loaded)  # type: ignore[no-any-return]


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _changed(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(each, change) for each in value]
    return value
