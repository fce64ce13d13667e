"""Strings in metadata, in the form by which a store finds records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LONGEST = 200  # characters; records are not found by longer strings


def marks_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the short strings in metadata with their keys, by which records are found."""
    return [mark(key, value) for key, value in metadata.items() if isinstance(value, str) and len(value) <= _LONGEST]


def mark(key: str, value: str) -> str:
    """Join a key and its string into one text."""
    return f"{len(key)} {key}{value}"
