"""Whether the leaves that Chroma returns are as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafspan.documents import unpack_place
from leafspan.reserved import STRUCTURE_KEY
from leafspan.store._checksums import is_as_written, text_is_as_written
from leafspan.store._manifest import Row
from leafspan.values import Leaf, LeafId


def check_text(row: Row, leaf: LeafId, record: Mapping[str, Any] | None) -> None:
    """Check the text of a leaf of a document's current version.

    Args:
        row: Row of the document.
        leaf: Id of the leaf, or of a summary.
        record: Its text as ``document``; with its ``metadata`` if the row has no checksums. None if it is missing.

    Raises:
        IndexMismatch: if it is stored in another format.
        ValueError: if it is not as it was written. The message says what is wrong with the document.
    """
    if record is None or record["document"] is None:
        raise ValueError(f"{_name(leaf)} is missing" if record is None else f"the text of {_name(leaf)} is missing")
    if row.checksums:
        if not text_is_as_written(row.checksums, leaf.ordinal, record["document"]):
            raise ValueError(f"the text of {_name(leaf)} is not as it was written")
    elif leaf.is_summary or _has_length(leaf, record):
        _check_not_in_doubt(row)
    else:
        read_place(row, leaf, record["document"], record["metadata"])


def check_record(row: Row, leaf: LeafId, text: str, metadata: Mapping[str, Any] | None) -> str:
    """Check text and place of a leaf, or of a summary, against its document's checksums, if there are any.

    Returns:
        The packed place.

    Raises:
        ValueError: as above.
    """
    packed = metadata.get(STRUCTURE_KEY) if metadata is not None else None
    if not isinstance(packed, str):
        raise ValueError(f"the place of {_name(leaf)} is missing")
    checksums = row.checksums
    if not checksums:
        _check_not_in_doubt(row)
    elif not is_as_written(checksums, leaf.ordinal, text, packed):
        which = "place" if text_is_as_written(checksums, leaf.ordinal, text) else "text"
        raise ValueError(f"the {which} of {_name(leaf)} is not as it was written")
    return packed


def read_place(row: Row, leaf: LeafId, text: str, metadata: Mapping[str, Any] | None) -> Leaf:
    """A leaf of a document's current version with its place. The arguments are as above.

    Raises:
        IndexMismatch: if it is stored in another format.
        ValueError: if it is not as it was written. The message says what is wrong with the document.
    """
    packed = check_record(row, leaf, text, metadata)
    if row.checksums:
        return unpack_place(leaf, packed, checked=True)
    try:
        place = unpack_place(leaf, packed)
    except ValueError as error:
        raise ValueError(f"{_name(leaf)} is damaged: {error}") from None
    if place.end - place.start != len(text):
        raise ValueError(f"{_name(leaf)} has {len(text)} characters, and {place.end - place.start} by its place")
    if place.end > row.characters or (place.ancestors and not _is_all(row, place)):
        raise ValueError(f"{_name(leaf)} has a place in a text of another length: {packed!r}")
    return place


def _is_all(row: Row, place: Leaf) -> bool:
    """Whether the last ancestor is the whole document."""
    top = place.ancestors[-1]
    return top.last == row.leaves - 1 and top.end == row.characters


def _has_length(leaf: LeafId, record: Mapping[str, Any]) -> bool:
    """Whether a text is as long as its place says, as far as that can be told at once."""
    try:
        ordinal, start, end, _ = record["metadata"][STRUCTURE_KEY].split("|", 2)[1].split(",")
        return int(ordinal) == leaf.ordinal and int(end) - int(start) == len(record["document"])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


def _check_not_in_doubt(row: Row) -> None:
    """Without checksums, only what repair() has found can tell that a text of the right length is another one."""
    if not row.hash:
        raise ValueError("repair() has found that it is not whole")


def _name(leaf: LeafId) -> str:
    return f"its summary {leaf.ordinal}" if leaf.is_summary else f"its leaf {leaf.ordinal}"
