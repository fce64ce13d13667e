"""The readable part of a damaged manifest row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class LooseRow(NamedTuple):
    """The values of a damaged row that cannot be made again from leaves. They may be wrong."""

    hash: str  # of the content
    title: str | None
    metadata: Mapping[str, object]  # the user's own
    extra: Mapping[str, Any]
    crc: str  # checksum of the row


def read_loosely(metadata: Any) -> LooseRow | None:
    """Read a damaged row from its record's metadata. Return None if too much of it is lost."""
    packed = metadata.get("row") if isinstance(metadata, Mapping) else None
    try:
        stored = json.loads(packed) if isinstance(packed, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(stored, dict):
        return None
    hash_, title, own = stored.get("hash"), stored.get("title"), stored.get("metadata")
    extra, crc = stored.get("more", {}), stored.get("crc")
    if (
        not isinstance(hash_, str)
        or not isinstance(title, str | None)
        or not isinstance(own, dict)
        or not _is_metadata(own)
    ):
        return None
    return LooseRow(hash_, title, own, extra, crc) if isinstance(extra, dict) and isinstance(crc, str) else None


def _is_metadata(values: Any) -> bool:
    """Whether these values are valid metadata."""
    return isinstance(values, dict) and all(map(_is_value, values.values()))


def _is_value(value: Any) -> bool:
    """Whether this value is valid in metadata."""
    if isinstance(value, list):
        return all(isinstance(each, str | int | float) for each in value)
    return isinstance(value, str | int | float)
