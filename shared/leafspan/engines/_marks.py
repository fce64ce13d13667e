"""Strings of metadata as texts by which a store finds records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LONGEST = 200  # characters of a string that records are found by


def marks_of(metadata: Mapping[str, Any]) -> list[str]:
    """The short strings of metadata with their keys, by which records are found."""
    return [mark(key, value) for key, value in metadata.items() if isinstance(value, str) and len(value) <= _LONGEST]


def mark(key: str, value: str) -> str:
    """A key and a string under it as one text."""
    return f"{len(key)} {key}{value}"
