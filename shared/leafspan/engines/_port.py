"""The interface of a store: tables of records. See docs/write-an-engine.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

Field: TypeAlias = Literal["text", "metadata", "vector"]
"""A part of a record."""

Notes: TypeAlias = Mapping[str, str]
"""Notes that leafspan keeps with a table: a few short texts by key."""


class StaleRead(Exception):
    """Something that was just read has been replaced, so reading must start again. Users never see this exception."""


MOST_RESULTS = 10_000
"""The most results that leafspan requests in one search."""


class Record(NamedTuple):
    """A record of a table.

    Attributes:
        id: Its id: any text of 1 to 512 bytes in UTF-8 without half surrogate pairs and null characters.
        text: Its text, of any length. None if the record has no text, or it was not requested.
        metadata: Strings, numbers, booleans and lists of them, by key. None if it has no metadata, or it was not requested.
        vector: Its vector, a sequence of 32-bit floats. None if the record has no vector, or it was not requested.
    """

    id: str
    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    vector: Any = None


class Near(NamedTuple):
    """A record that a search has found.

    Attributes:
        record: The record, with the requested fields.
        similarity: The cosine similarity of its vector and the query, in [-1, 1].
    """

    record: Record
    similarity: float


class Table(Protocol):
    """Records by id. The methods of a table and its engine are either all functions, or all coroutine functions.

    Attributes:
        id: Tells the table apart from all others: a table that was deleted and made again has another id.
        name: Its name.
        notes: Its notes at the time when the table was opened.
    """

    id: str
    name: str
    notes: Notes

    def get(self, ids: Sequence[str], fields: Collection[Field]) -> Sequence[Record]:
        """Return the records with these ids, in any order. Ignore unknown ids."""

    def scan(self, fields: Collection[Field]) -> Sequence[Record]:
        """Return all records, in any order. Records that are written or deleted meanwhile may be among them or not."""

    def find(self, key: str, values: Collection[str]) -> Sequence[str]:
        """Return the ids of the records whose metadata has one of these strings under the key, in any order."""

    def put(self, records: Sequence[Record]) -> None:
        """Write whole records. A record replaces the record with the same id. All are stored when this returns."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete records. Ignore unknown ids. All are gone when this returns."""

    def nearest(self, vectors: Any, count: int, fields: Collection[Field]) -> Sequence[Sequence[Near]]:
        """For each vector of a matrix, return at most ``count`` records with the highest cosine similarity, best first.

        The search may be approximate.
        """

    def annotate(self, notes: Notes) -> None:
        """Replace the notes."""


class Engine(Protocol):
    """A store that has tables.

    If its methods are coroutine functions, indexes are opened with ``Index.aopen``. leafspan calls an engine from several
    threads, and ends each call after the index's ``timeout``. leafspan turns an engine's exception into ``StorageFailed``,
    unless it is a leafspan error already.

    Attributes:
        place: The store's name in errors, such as ``"the database at db.example.com"``.
        batch: Most records that leafspan puts, gets or deletes by one call, >= 1.
        is_local: Whether the data end with the process. If so, leafspan writes no files derived from them.
    """

    place: str
    batch: int
    is_local: bool

    def tables(self) -> Mapping[str, Notes]:
        """Return the notes of all tables, by name."""

    def table(self, name: str) -> Table | None:
        """Return the table with this name, or None if it does not exist."""

    def create(self, name: str, notes: Notes, *, searched: bool) -> Table:
        """Make a table with these notes, or return the existing table with this name unchanged.

        ``searched`` is False for a table whose records have no vectors. In any other table, the first ``put`` fixes the
        length of all vectors.
        """


_LONGEST = 200  # characters; records are not found by longer strings


def marks_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the short strings in metadata with their keys, by which records are found."""
    return [mark(key, value) for key, value in metadata.items() if isinstance(value, str) and len(value) <= _LONGEST]


def mark(key: str, value: str) -> str:
    """Join a key and its string into one text."""
    return f"{len(key)} {key}{value}"
