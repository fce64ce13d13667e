"""The beginning of a stored row, for those who look at all documents and need no more of each."""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONDecoder
from typing import NamedTuple

_TITLE = b',"title":'  # of the row itself: what stands before it is written by leafspan alone
_METADATA = ',"metadata":'
_NOTHING = b'null,"metadata":{},'
_read = JSONDecoder().raw_decode


class RowHead(NamedTuple):
    """What is known of a document without unpacking its row.

    Attributes:
        document_id: Stored id of the document.
        version: The current version. None if there is none.
        leaves: Number of leaves of the current version.
        title: Title of the document.
        metadata: The user's own metadata.
    """

    document_id: str
    version: str | None
    leaves: int
    title: str | None
    metadata: Mapping[str, object]


def read_title(packed: bytes) -> tuple[str | None, Mapping[str, object]]:
    """The title and the metadata of a row that is as ``Row.packed`` has made it."""
    start = packed.index(_TITLE) + len(_TITLE)
    if packed.startswith(_NOTHING, start):
        return None, {}
    text = packed[start:].decode()
    title, end = _read(text)
    metadata, _ = _read(text, end + len(_METADATA))
    return title, metadata
