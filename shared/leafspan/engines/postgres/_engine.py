"""An engine over a PostgreSQL database with pgvector. Each table of an index is a table of the database.

A registry, ``leafspan_tables``, has the name and the notes of each. Everything is made when it is first used. Vectors are
searched exactly in small tables, and by a graph (HNSW) in larger ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakSet

from leafspan.engines._port import Field, Near, Notes, Record
from leafspan.engines.postgres._values import loaded, loaded_metadata, mark, marks_of, stored, stored_metadata

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed
    from psycopg_pool import ConnectionPool

_REGISTRY = "leafspan_tables"
_LOCK = 0x6C656166  # of those who make tables, so that one of them does
_MOST_INDEXED = 2_000  # numbers of a vector that pgvector indexes; of longer ones, all are compared
_LEAST_INDEXED = 20_000  # records below which all vectors are compared
_MOST_LOOKED_AT = 1_000  # candidates of a search in the graph
_COLUMNS: Mapping[Field, str] = {"text": "content", "metadata": "metadata", "vector": "vector"}


class Postgres:
    """A database that has tables of indexes.

    Attributes:
        pool: Connections to the database.
        place: What it is called in errors.
    """

    batch = 1_000
    is_local = False

    def __init__(self, pool: ConnectionPool[Any], place: str = "the database", *, schema: str = "public") -> None:
        self.pool = pool
        self.place = place
        self._schema = schema
        self._known: WeakSet[Connection[Any]] = WeakSet()

    @contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """A connection that reads and writes vectors. What is done with it is one transaction."""
        from pgvector.psycopg import register_vector

        with self.pool.connection() as connection:
            if connection not in self._known and _has(connection, "SELECT to_regtype('vector')"):
                register_vector(connection)
                self._known.add(connection)
            yield connection

    def named(self, *names: str) -> Composed:
        """The name of something in the schema, for a statement; without names, that of the schema."""
        from psycopg.sql import SQL, Identifier

        return SQL("{}").format(Identifier(self._schema, *names))

    def tables(self) -> Mapping[str, Notes]:
        """See Engine."""
        with self.connection() as connection:
            if not self._has_registry(connection):
                return {}
            rows = connection.execute(_sql("SELECT name, notes FROM {}", self.named(_REGISTRY))).fetchall()
            return {loaded(name): loaded_metadata(notes) for name, notes in rows}

    def table(self, name: str) -> PostgresTable | None:
        """See Engine."""
        with self.connection() as connection:
            return self._table(connection, name) if self._has_registry(connection) else None

    def create(self, name: str, notes: Notes, *, searched: bool) -> PostgresTable:
        """See Engine."""
        with self.connection() as connection:
            if self._has_registry(connection) and (found := self._table(connection, name)) is not None:
                return found
            self.locked(connection)
            self._make_registry(connection)
            if (found := self._table(connection, name)) is None:
                table = PostgresTable(self, uuid4().hex, name, dict(notes), searched=searched)
                table.make(connection)
                connection.execute(
                    _sql("INSERT INTO {} (id, name, notes, searched) VALUES (%s, %s, %s, %s)", self.named(_REGISTRY)),
                    (table.id, stored(name), stored_metadata(notes), searched),
                )
                return table
            return found

    def annotate(self, id_: str, notes: Notes) -> None:
        """Replace the notes of a table."""
        with self.connection() as connection:
            connection.execute(
                _sql("UPDATE {} SET notes = %s WHERE id = %s", self.named(_REGISTRY)), (stored_metadata(notes), id_)
            )

    def locked(self, connection: Connection[Any]) -> None:
        """Let nobody else make or change tables until the transaction ends."""
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))

    def _has_registry(self, connection: Connection[Any]) -> bool:
        return _has(connection, "SELECT to_regclass(%s)", self.named(_REGISTRY).as_string(connection))

    def _table(self, connection: Connection[Any], name: str) -> PostgresTable | None:
        found = connection.execute(
            _sql("SELECT id, notes, searched FROM {} WHERE name = %s", self.named(_REGISTRY)), (stored(name),)
        ).fetchone()
        return None if found is None else PostgresTable(self, found[0], name, loaded_metadata(found[1]), searched=found[2])

    def _make_registry(self, connection: Connection[Any]) -> None:
        if not _has(connection, "SELECT to_regtype('vector')"):
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        if not _has(connection, "SELECT to_regnamespace(%s)", self.named().as_string(connection)):
            connection.execute(_sql("CREATE SCHEMA IF NOT EXISTS {}", self.named()))
        connection.execute(
            _sql(
                'CREATE TABLE IF NOT EXISTS {} (id text PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, '
                "notes json NOT NULL, searched boolean NOT NULL)",
                self.named(_REGISTRY),
            )
        )


class PostgresTable:
    """A table of the database with the records of a table of an index."""

    def __init__(self, engine: Postgres, id_: str, name: str, notes: Notes, *, searched: bool) -> None:
        self.id = id_
        self.name = name
        self.notes = notes
        self._engine = engine
        self._searched = searched
        self._relation = engine.named(f"leafspan_{id_}")
        self._is_ready = not searched

    def make(self, connection: Connection[Any]) -> None:
        """Make the table of the database."""
        of_kind = "vector vector" if self._searched else "marks text[]"
        connection.execute(
            _sql(
                f'CREATE TABLE {{}} (id text COLLATE "C" PRIMARY KEY, content text, metadata json, {of_kind})',
                self._relation,
            )
        )
        if not self._searched:
            connection.execute(_sql("CREATE INDEX ON {} USING gin (marks)", self._relation))

    def get(self, ids: Sequence[str], fields: Collection[Field]) -> Sequence[Record]:
        """See Table."""
        return self._read(fields, "WHERE id = ANY(%s)", [list(ids)]) if ids else []

    def scan(self, fields: Collection[Field]) -> Sequence[Record]:
        """See Table."""
        return self._read(fields, "", [])

    def find(self, key: str, values: Collection[str]) -> Sequence[str]:
        """See Table."""
        if self._searched:
            where, given = "WHERE metadata ->> %s = ANY(%s)", [stored(key), [stored(each) for each in values]]
        else:
            where, given = "WHERE marks && %s", [[mark(key, each) for each in values]]
        return [each.id for each in self._read((), where, given)] if values else []

    def put(self, records: Sequence[Record]) -> None:
        """See Table."""
        if not records:
            return
        from psycopg.sql import SQL, Identifier

        columns = ["id", "content", "metadata", "vector" if self._searched else "marks"]
        with self._engine.connection() as connection:
            if not self._is_ready and (vectors := [each.vector for each in records if each.vector is not None]):
                self._prepare(connection, len(vectors[0]))
            statement = SQL("INSERT INTO {} ({}) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET {}").format(
                self._relation,
                SQL(", ").join(map(Identifier, columns)),
                SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(Identifier(each)) for each in columns[1:]),
            )
            # In the order of ids, so that two writers of the same records do not wait for each other for ever.
            with connection.cursor() as cursor:
                cursor.executemany(statement, [self._row(each) for each in sorted(records, key=lambda each: each.id)])

    def delete(self, ids: Sequence[str]) -> None:
        """See Table."""
        if ids:
            with self._engine.connection() as connection:
                connection.execute(_sql("DELETE FROM {} WHERE id = ANY(%s)", self._relation), (sorted(ids),))

    def nearest(self, vectors: Any, count: int, fields: Collection[Field]) -> Sequence[Sequence[Near]]:
        """See Table."""
        import numpy as np

        names = [each for each in _COLUMNS if each in fields]
        columns = "".join(f", {_COLUMNS[each]}" for each in names)
        statement = _sql(
            f"SELECT id{columns}, 1 - (vector <=> %s) FROM {{}} WHERE vector IS NOT NULL ORDER BY vector <=> %s LIMIT %s",
            self._relation,
        )
        found = []
        with self._engine.connection() as connection:
            self._choose_search(connection, count)
            for vector in np.asarray(vectors, np.float32):
                rows = connection.execute(statement, (vector, vector, count)).fetchall()
                found.append([Near(_record(row[:-1], names), _similarity(row[-1])) for row in rows])
        return found

    def annotate(self, notes: Notes) -> None:
        """See Table."""
        self._engine.annotate(self.id, notes)

    def _row(self, record: Record) -> tuple[Any, ...]:
        import numpy as np

        text = None if record.text is None else stored(record.text)
        metadata = None if record.metadata is None else stored_metadata(record.metadata)
        if not self._searched:
            return record.id, text, metadata, marks_of(record.metadata or {})
        return record.id, text, metadata, None if record.vector is None else np.asarray(record.vector, np.float32)

    def _read(self, fields: Collection[Field], where: str, given: Sequence[Any]) -> list[Record]:
        names = [each for each in _COLUMNS if each in fields and (self._searched or each != "vector")]
        columns = "".join(f", {_COLUMNS[each]}" for each in names)
        with self._engine.connection() as connection:
            rows = connection.execute(_sql(f"SELECT id{columns} FROM {{}} {where}", self._relation), given).fetchall()
        return [_record(row, names) for row in rows]

    def _prepare(self, connection: Connection[Any], numbers: int) -> None:
        """Say how many numbers vectors have, and index them, unless somebody has."""
        kind = _one(connection, _ATTRIBUTE, self._name_of(connection))
        if kind == -1:
            self._engine.locked(connection)
            if _one(connection, _ATTRIBUTE, self._name_of(connection)) == -1:
                connection.execute(_sql(f"ALTER TABLE {{}} ALTER vector TYPE vector({numbers})", self._relation))
                if numbers <= _MOST_INDEXED:
                    connection.execute(_sql("CREATE INDEX ON {} USING hnsw (vector vector_cosine_ops)", self._relation))
        self._is_ready = True

    def _choose_search(self, connection: Connection[Any], count: int) -> None:
        """Compare all vectors where they are few, or many are wanted; otherwise search the graph until there are enough."""
        size = _one(connection, "SELECT reltuples FROM pg_class WHERE oid = %s::regclass", self._name_of(connection))
        if size is None or size < _LEAST_INDEXED or count * 2 > _MOST_LOOKED_AT:
            connection.execute("SET LOCAL enable_indexscan = off")
            return
        connection.execute(f"SET LOCAL hnsw.ef_search = {min(_MOST_LOOKED_AT, max(100, count * 4))}")
        connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")

    def _name_of(self, connection: Connection[Any]) -> str:
        return self._relation.as_string(connection)


_ATTRIBUTE = "SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'vector'"


def _record(row: Sequence[Any], names: Sequence[Field]) -> Record:
    """The record of a row: its id, and the fields of these names."""
    load: Mapping[Field, Callable[[Any], Any]] = {
        "text": loaded,
        "metadata": loaded_metadata,
        "vector": lambda vector: vector.to_numpy(),
    }
    fields = {name: None if value is None else load[name](value) for name, value in zip(names, row[1:], strict=True)}
    return Record(row[0], **fields)


def _similarity(value: float) -> float:
    """A cosine. That of a vector of zeros is not defined: it is similar to nothing."""
    return 0.0 if math.isnan(value) else value


def _has(connection: Connection[Any], question: Any, *given: Any) -> bool:
    return _one(connection, question, *given) is not None


def _one(connection: Connection[Any], question: Any, *given: Any) -> Any:
    """The only value of an answer; None without one."""
    found = connection.execute(question, given).fetchone()
    return None if found is None else found[0]


def _sql(statement: str, relation: Composed) -> Composed:
    """A statement about a table, whose name stands for the braces."""
    from psycopg.sql import SQL

    return SQL(statement).format(relation)
