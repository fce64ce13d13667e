"""Checks that stored leaves are unchanged since they were written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import unpack_place
from leafspan.engines import Record
from leafspan.store._checksums import is_as_written, text_is_as_written
from leafspan.store._manifest import Row
from leafspan.values import Leaf, LeafId


def check_text(row: Row, leaf: LeafId, record: Record | None) -> None:
    """Check the text of a leaf of a document's current version. The ValueError says what is wrong with the document."""
    if record is None or record.text is None:
        raise ValueError(f"{_name(leaf)} is missing" if record is None else f"the text of {_name(leaf)} is missing")
    if not text_is_as_written(row.checksums, leaf.ordinal, record.text):
        raise ValueError(f"the text of {_name(leaf)} is not as it was written")


def check_record(row: Row, leaf: LeafId, text: str, metadata: Mapping[str, Any] | None) -> str:
    """Check a leaf's or a summary's text and place, and return the packed place. The ValueError says what is wrong."""
    packed = metadata.get(STRUCTURE_KEY) if metadata is not None else None
    if not isinstance(packed, str):
        raise ValueError(f"the place of {_name(leaf)} is missing")
    if not is_as_written(row.checksums, leaf.ordinal, text, packed):
        which = "place" if text_is_as_written(row.checksums, leaf.ordinal, text) else "text"
        raise ValueError(f"the {which} of {_name(leaf)} is not as it was written")
    return packed


def read_place(row: Row, leaf: LeafId, text: str, metadata: Mapping[str, Any] | None) -> Leaf:
    """Return a leaf of a document's current version with its place."""
    return unpack_place(leaf, check_record(row, leaf, text, metadata), checked=True)


def _name(leaf: LeafId) -> str:
    return f"its summary {leaf.ordinal}" if leaf.is_summary else f"its leaf {leaf.ordinal}"
