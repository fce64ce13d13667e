"""What can be read of a damaged row of the manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class LooseRow(NamedTuple):
    """Those values of a row that cannot be made again from leaves. Nothing in it can be relied on.

    Attributes:
        hash: Hash of the content.
        title: Title of the document.
        metadata: The user's own metadata.
        extra: Further values.
        crc: Checksum of the row.
    """

    hash: str
    title: str | None
    metadata: Mapping[str, object]
    extra: Mapping[str, Any]
    crc: str


def read_loosely(metadata: Any) -> LooseRow | None:
    """What can be read of a row, from the metadata of its record; None if it is not enough."""
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
    """Whether it is what metadata can be."""
    return isinstance(values, dict) and all(map(_is_value, values.values()))


def _is_value(value: Any) -> bool:
    """Whether it is a value that metadata can have: a list is of one type."""
    if isinstance(value, list):
        return all(isinstance(each, str | int | float) for each in value)
    return isinstance(value, str | int | float)
