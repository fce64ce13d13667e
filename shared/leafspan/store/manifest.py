"""The manifest: a record a document, which says what version of it counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafspan.documents import RESERVED_PREFIX
from leafspan.leaves import Section

CHANGES_ID = f"{RESERVED_PREFIX}changes"
"""The id of a record beside the rows: its token is another after every change that readers must see."""

_ROW_KEY = "row"
_TOKEN_KEY = "token"


@dataclass(frozen=True, slots=True)
class Row:
    """What the index knows of a document, apart from its text.

    ``version`` is the one that counts, of ``leaves`` leaves; None while the document is first being written, or being
    deleted. ``litter`` holds (version, leaves) of others of which leaves may lie about: being written or being deleted.
    ``more``: what else is kept with it, as JSON has it.
    """

    document_id: str
    hash: str
    version: str | None
    leaves: int
    litter: tuple[tuple[str, int], ...] = ()
    title: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    characters: int = 0
    words: int = 0
    more: Mapping[str, Any] = field(default_factory=dict)

    def pack(self) -> dict[str, str]:
        """The row as the metadata of its record."""
        values = {name: getattr(self, name) for name in _STORED}
        return {_ROW_KEY: json.dumps(values, ensure_ascii=False, separators=(",", ":"))}

    @classmethod
    def unpack(cls, document_id: str, metadata: Mapping[str, Any]) -> Row:
        """The row from its record."""
        values = json.loads(metadata[_ROW_KEY])
        values["litter"] = tuple((version, leaves) for version, leaves in values["litter"])
        values["sections"] = tuple(Section(*section) for section in values["sections"])
        return cls(document_id, **values)


_STORED = ("hash", "version", "leaves", "litter", "title", "metadata", "sections", "characters", "words", "more")


def grouped(rows: Iterable[Row], leaves: int) -> Iterator[list[Row]]:
    """The documents in groups of about so many leaves, in their order."""
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += row.leaves
        if size >= leaves:
            yield group
            group, size = [], 0
    if group:
        yield group


def columns(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as what Chroma writes; every record needs a vector, and these have nothing to be near to."""
    return {"embeddings": [[0.0]] * len(rows), "metadatas": [row.pack() for row in rows]}


def unpack_rows(records: Mapping[str, Mapping[str, Any]]) -> dict[str, Row]:
    """Rows by document id."""
    return {id_: Row.unpack(id_, record["metadata"]) for id_, record in records.items() if id_ != CHANGES_ID}


def token_columns(token: str) -> dict[str, Any]:
    """A token as what Chroma writes."""
    return {"embeddings": [[0.0]], "metadatas": [{_TOKEN_KEY: token}]}


def unpack_token(records: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The token, None before the first change."""
    return str(records[CHANGES_ID]["metadata"][_TOKEN_KEY]) if CHANGES_ID in records else None
