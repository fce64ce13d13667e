"""What leafspan asks of a store: tables of records. Whoever has one can write an engine for it: docs/write-an-engine.md."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

Field: TypeAlias = Literal["text", "metadata", "vector"]
"""A part of a record."""

Notes: TypeAlias = Mapping[str, str]
"""What is written on a table when it is made: a few short texts by key."""


class StaleRead(Exception):
    """Something that was just read has been replaced, so reading must start again. Users never see this exception."""


MOST_RESULTS = 10_000
"""The most results that a search is asked for."""


class Record(NamedTuple):
    """A record of a table.

    Attributes:
        id: Its id: any text of 1 to 512 bytes in UTF-8 without half surrogate pairs and null characters.
        text: Its text, of any length. None if it has none, or was not asked for.
        metadata: Strings, numbers, booleans and lists of them, by key. None if it has none, or was not asked for.
        vector: Its vector, a sequence of 32-bit floats. None if it has none, or was not asked for.
    """

    id: str
    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    vector: Any = None


class Near(NamedTuple):
    """A record that a search has found.

    Attributes:
        record: The record, with the fields that were asked for.
        similarity: The cosine similarity of its vector to the query, in [-1, 1].
    """

    record: Record
    similarity: float


class Table(Protocol):
    """Records by id. Either all methods of a table and its engine are functions, or all are coroutine functions.

    Attributes:
        id: What tells the table apart from all others: a table that was deleted and made again has another id.
        name: Its name.
        notes: What was written on it, as it was when the table was opened.
    """

    id: str
    name: str
    notes: Notes

    def get(self, ids: Sequence[str], fields: Collection[Field]) -> Sequence[Record]:
        """The records with these ids, in any order. Unknown ids are left out."""
        ...

    def scan(self, fields: Collection[Field]) -> Sequence[Record]:
        """All records, in any order. Those that are put or deleted meanwhile may be among them or not."""
        ...

    def find(self, key: str, values: Collection[str]) -> Sequence[str]:
        """The ids of the records whose metadata has one of these strings under the key, in any order."""
        ...

    def put(self, records: Sequence[Record]) -> None:
        """Write records, each as a whole, in place of those with the same ids. They are there when this returns."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete records. Unknown ids are ignored. They are gone when this returns."""
        ...

    def nearest(self, vectors: Any, count: int, fields: Collection[Field]) -> Sequence[Sequence[Near]]:
        """For each vector of a matrix the records with the highest cosine similarity, at most ``count``, best first.

        The search may be approximate.
        """
        ...

    def annotate(self, notes: Notes) -> None:
        """Replace the notes."""
        ...


class Engine(Protocol):
    """A store that has tables.

    If its methods are coroutine functions, indexes are opened with ``Index.aopen``. leafspan calls an engine from several
    threads, and ends each call after the ``timeout`` of the index. What an engine raises becomes a ``StorageFailed``,
    unless it is an error of leafspan's already.

    Attributes:
        place: What it is called in errors, such as ``"the database at db.example.com"``.
        batch: Most records that leafspan puts, gets or deletes by one call, >= 1.
        is_local: Whether what it has ends with the process, so that nothing derived of it is kept in files.
    """

    place: str
    batch: int
    is_local: bool

    def tables(self) -> Mapping[str, Notes]:
        """The notes of all tables, by name."""
        ...

    def table(self, name: str) -> Table | None:
        """The table of this name, or None if it does not exist."""
        ...

    def create(self, name: str, notes: Notes, *, searched: bool) -> Table:
        """Make a table with these notes; the table as it is, if there is one of this name.

        ``searched`` is False for a table whose records have no vectors. The first ``put`` into another one says how many
        numbers its vectors have.
        """
        ...
