"""The start of a stored row, for code that reads all documents and needs little of each."""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONDecoder
from typing import NamedTuple

from leafspan.documents import with_language

_LANGUAGE = b',"lang":'
_TITLE = b',"title":'  # the row's own title: only leafspan writes what precedes it
_METADATA = ',"metadata":'
_NOTHING = b'null,"metadata":{},'
_read = JSONDecoder().raw_decode


class RowHead(NamedTuple):
    """What can be read of a document without unpacking its whole row."""

    document_id: str
    version: str | None  # the current one
    leaves: int  # number of leaves of the current version
    title: str | None
    metadata: Mapping[str, object]  # the user's own
    language: str | None  # None if it is not certain

    @property
    def filterable(self) -> Mapping[str, object]:
        """The metadata that filters match."""
        return with_language(self.metadata, self.language)


def read_title(packed: bytes) -> tuple[str | None, Mapping[str, object], str | None]:
    """Read title, metadata and language from a row as ``Row.packed`` makes it."""
    end_of_language = packed.index(_TITLE)
    start = end_of_language + len(_TITLE)
    code = packed[packed.index(_LANGUAGE) + len(_LANGUAGE) : end_of_language]
    language = None if code == b"null" else code[1:-1].decode()
    if packed.startswith(_NOTHING, start):
        return None, {}, language
    text = packed[start:].decode()
    title, end = _read(text)
    metadata, _ = _read(text, end + len(_METADATA))
    return title, metadata, language
