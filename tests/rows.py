"""The rows of an index, wherever they are stored, with the methods of a Chroma collection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from leafspan import Index, View
from leafspan.store._document_table import decoded, encoded
from leafspan.store._rows_file import ROWS


class Rows:
    """The rows of an index in a folder, changed behind leafspan's back."""

    def __init__(self, folder: Path, name: str = "kb") -> None:
        self._path = folder / ROWS
        self._name = name

    @contextmanager
    def _opened(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        with closing(sqlite3.connect(self._path)) as database, database:
            (owner,) = database.execute("select number from indexes where name = ?", (self._name,)).fetchone()
            yield database, owner

    def get(self, ids: Sequence[str] | None = None, limit: int | None = None, include: Any = ()) -> dict[str, Any]:
        """The current rows, as Chroma would answer."""
        with self._opened() as (database, owner):
            query = "select document, max(number), packed from rows where owner = ? group by document order by 2"
            found = {decoded(id_): packed for id_, _, packed in database.execute(query, (owner,)) if packed is not None}
        rows = {id_: row for id_, row in found.items() if ids is None or id_ in ids}
        chosen = dict(list(rows.items())[:limit])
        return {
            "ids": list(chosen),
            "metadatas": [{"row": packed.decode(errors="replace")} for packed in chosen.values()],
            "documents": [None] * len(chosen),
            "embeddings": [[0.0]] * len(chosen),
        }

    def update(self, ids: Sequence[str], metadatas: Sequence[Mapping[str, Any]], **_: Any) -> None:
        """Change the content of rows, and nothing that says what is in it. Readers read them again."""
        with self._opened() as (database, owner):
            for id_, metadata in zip(ids, metadatas, strict=True):
                content = (metadata.get("row") or "").encode()
                database.execute(
                    "insert into rows (owner, document, version, leaves, open, packed) "
                    "select owner, document, version, leaves, open, ? from rows where owner = ? and document = ? "
                    "order by number desc limit 1",
                    (content, owner, encoded(id_)),
                )

    def upsert(self, ids: Sequence[str], metadatas: Sequence[Mapping[str, Any]], **_: Any) -> None:
        """Change rows, or add them as a writer does."""
        there = set(self.get()["ids"])
        for id_, metadata in zip(ids, metadatas, strict=True):
            try:
                row = json.loads(metadata["row"])
                values = row["version"], row["leaves"], bool(row["litter"]) or row["version"] is None
            except (KeyError, TypeError, ValueError):
                assert id_ in there
                self.update([id_], [metadata])
                continue
            with self._opened() as (database, owner):
                query = "insert into rows (owner, document, version, leaves, open, packed) values (?, ?, ?, ?, ?, ?)"
                database.execute(query, (owner, encoded(id_), *values, metadata["row"].encode()))

    def delete(self, ids: Sequence[str]) -> None:
        """Delete rows as a writer does."""
        with self._opened() as (database, owner):
            query = "insert into rows (owner, document, version, leaves, open, packed) values (?, ?, null, 0, 0, null)"
            database.executemany(query, [(owner, encoded(id_)) for id_ in ids])

    def forget(self) -> None:
        """Remove the index and its rows."""
        with self._opened() as (database, owner):
            database.execute("delete from rows where owner = ?", (owner,))
            database.execute("delete from indexes where number = ?", (owner,))

    @property
    def metadata(self) -> dict[str, str]:
        """The settings and the embedder."""
        with self._opened() as (database, owner):
            (notes,) = database.execute("select notes from indexes where number = ?", (owner,)).fetchone()
        return dict(json.loads(notes))

    def modify(self, metadata: Mapping[str, str]) -> None:
        """Replace settings and embedder."""
        with self._opened() as (database, owner):
            database.execute("update indexes set notes = ? where number = ?", (json.dumps(dict(metadata)), owner))


def collection(index: Index | View, name: str) -> Any:
    """A collection of an index, or what stands for it."""
    folder = getattr(index._store, "_folder", None)
    if name.endswith(".manifest") and folder is not None:
        return Rows(folder.path, name.removesuffix(".manifest"))
    return index.client.get_collection(name, embedding_function=None)
