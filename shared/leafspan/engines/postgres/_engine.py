"""An engine over a PostgreSQL database with pgvector. Each table of an index is a table of the database.

A registry, ``leafspan_tables``, has each table's name and notes. leafspan makes tables when it first uses them. It
searches vectors exactly in small tables, and through a graph (HNSW) in larger ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from leafspan.checks import check_text, check_whole
from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines._port import Notes
from leafspan.engines._tables import FlowEngine
from leafspan.engines.postgres._database import (
    PLACE_OF_VECTORS,
    Ask,
    Locks,
    Postgres,
    Sessions,
    Steps,
    check_installed,
    statement,
    translated,
)
from leafspan.engines.postgres._table import (
    LOCK_TABLES,
    REGISTRY,
    PostgresTable,
    loaded,
    loaded_metadata,
    stored,
    stored_metadata,
)
from leafspan.errors import IndexMismatch
from leafspan.flows import Flow

_VERSION = "leafspan tables, version 1"  # a comment on the registry


class PostgresEngine(FlowEngine):
    batch = 1_000
    is_local = False
    product = "PostgreSQL"

    def __init__(self, database: Postgres, timeout: float) -> None:
        check_installed()
        self.thing = database
        self.described = f"in {database.place}"
        self.sessions = Sessions(database, timeout)
        self.caller = self.sessions.caller
        self._locks = Locks(database.pool)

    def tables(self) -> Flow[Mapping[str, Notes]]:
        return (yield self.sessions.call("list the tables", self._tables))  # type: ignore[no-any-return]

    def table(self, name: str) -> Flow[PostgresTable | None]:
        return (yield self.sessions.call(f"open the table {name!r}", self._table, name))  # type: ignore[no-any-return]

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[PostgresTable]:
        call = self.sessions.call(f"make the table {name!r}", self._make, name, notes, searched, finish=True)
        return (yield call)  # type: ignore[no-any-return]

    def drop(self, name: str) -> Flow[None]:
        yield self.sessions.call(f"drop the table {name!r}", self._drop, name, finish=True)

    def lock(self, id_: str, documents: Sequence[str] | None, timeout: float, what: str) -> Flow[Callable[[], None]]:
        blocking = Caller(self.caller.place, False, timeout + LEAST_SECONDS, translate=translated)
        arguments = (id_, documents, timeout, what)
        return (yield blocking.call("lock documents", self._locks.acquire, arguments, finish=True))  # type: ignore[no-any-return]

    def close(self) -> None:
        self._locks.close()
        if self.thing.closes:
            self.thing.pool.close()

    def _tables(self) -> Steps[dict[str, Notes]]:
        if not (yield from self._has_registry()):
            return {}
        rows = yield self._ask("SELECT name, notes FROM {} WHERE notes IS NOT NULL")
        return {loaded(name): dict(loaded_metadata(notes)) for name, notes in rows}

    def _table(self, name: str) -> Steps[PostgresTable | None]:
        if not (yield from self._has_registry()):
            return None
        rows = yield self._ask("SELECT id, notes, searched FROM {} WHERE name = %s AND notes IS NOT NULL", stored(name))
        for id_, notes, searched in rows:
            return PostgresTable(self.sessions, id_, name, dict(loaded_metadata(notes)), searched=searched)
        return None

    def _make(self, name: str, notes: Notes, searched: bool) -> Steps[PostgresTable]:
        if (table := (yield from self._table(name))) is not None:
            return table
        yield LOCK_TABLES
        if not (yield from self._has_registry()):
            yield from self._make_registry()
        if (table := (yield from self._table(name))) is not None:
            return table
        # A script may have made the table without notes.
        content = stored_metadata(notes)
        rows = yield self._ask("UPDATE {} SET notes = %s WHERE name = %s RETURNING id, searched", content, stored(name))
        if rows:
            return PostgresTable(self.sessions, rows[0][0], name, dict(notes), searched=rows[0][1])
        table = PostgresTable(self.sessions, uuid4().hex, name, dict(notes), searched=searched)
        yield from table.make()
        yield self.register(table, content)
        return table

    def _drop(self, name: str) -> Steps[None]:
        if (table := (yield from self._table(name))) is not None:
            yield Ask(statement("DROP TABLE IF EXISTS {}", table.relation))
            yield self._ask("DELETE FROM {} WHERE id = %s", table.id)

    def register(self, table: PostgresTable, notes: str | None) -> Ask:
        """Return the statement that writes a table into the registry."""
        insert = "INSERT INTO {} (id, name, notes, searched) VALUES (%s, %s, %s, %s)"
        return self._ask(insert, table.id, stored(table.name), notes, table.searched)

    def _has_registry(self) -> Steps[bool]:
        """Whether this version has made tables."""
        question = "SELECT obj_description(to_regclass(%s), 'pg_class'), to_regclass(%s) IS NOT NULL"
        name = self.sessions.quoted(REGISTRY).as_string(None)
        [(version, is_there)] = yield Ask(question, [name, name])
        if is_there and version != _VERSION:
            raise IndexMismatch(
                f"the tables in {self.thing.place} are {version!r}, and this version of leafspan reads {_VERSION!r}: open "
                "them with the version that made them, or copy the index to another schema"
            )
        return bool(is_there)

    def _make_registry(self) -> Steps[None]:
        if not (yield Ask(PLACE_OF_VECTORS)):
            yield Ask("CREATE EXTENSION IF NOT EXISTS vector")
            [(place,)] = yield Ask(PLACE_OF_VECTORS)
            self.sessions.vectors = f"{place}."
        if (yield Ask("SELECT to_regnamespace(%s)", [self.sessions.quoted().as_string(None)])) == [(None,)]:
            yield Ask(statement("CREATE SCHEMA IF NOT EXISTS {}", self.sessions.quoted()))
        yield from self.registry()

    def registry(self) -> Steps[None]:
        yield self._ask(
            'CREATE TABLE IF NOT EXISTS {} (id text PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, '
            "notes json, searched boolean NOT NULL)"
        )
        yield self._ask(f"COMMENT ON TABLE {{}} IS '{_VERSION}'")

    def _ask(self, text: str, *values: Any) -> Ask:
        """Return a statement about the registry. The registry's name replaces the braces."""
        return Ask(statement(text, self.sessions.quoted(REGISTRY)), values)


_PARTS = {"leaves": True, "manifest": False, "texts": False, "segments": False}  # whether each part has vectors

# pgvector may be in a schema of its own.
_WITH_VECTORS = """DECLARE place name := (SELECT nspname FROM pg_extension JOIN pg_namespace
    ON pg_namespace.oid = extnamespace WHERE extname = 'vector');
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', place, {role});
    PERFORM set_config(
        'search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(place)), false);
END"""


def script(name: str = "kb", *, numbers: int, role: str, schema: str = "public") -> str:
    """Return the SQL that makes all tables of an index, and lets a role use them. An administrator runs it once.

    Args:
        name: Name of the index. Default: ``"kb"``.
        numbers: Length of the embedder's vectors, >= 1: 256 for WordLlama.
        role: The role that will use the index.
        schema: Schema of the tables. Default: ``"public"``.

    Raises:
        InvalidArgument: if an argument is of a wrong type.
        MissingExtra: if the extra ``postgres`` is not installed.
    """
    check_installed()
    from psycopg.sql import Identifier, Literal

    for option, value in (("name", name), ("role", role), ("schema", schema)):
        check_text(option, value)
    check_whole("numbers", numbers, 1)
    engine = PostgresEngine(Postgres(SimpleNamespace(getconn=None), schema), 1.0)  # its pool is never used
    user = Identifier(role)
    statements: list[Ask | list[Ask]] = [
        Ask("CREATE EXTENSION IF NOT EXISTS vector"),
        Ask(statement("DO {}", Literal(_WITH_VECTORS.replace("{role}", Literal(role).as_string(None))))),
        Ask(statement("CREATE SCHEMA IF NOT EXISTS {}", engine.sessions.quoted())),
        Ask(statement("GRANT USAGE ON SCHEMA {} TO {}", engine.sessions.quoted(), user)),
        *engine.registry(),
        Ask(statement("GRANT SELECT, UPDATE (notes) ON {} TO {}", engine.sessions.quoted(REGISTRY), user)),
    ]
    for index in (name, f"{name}.tree"):
        for part, searched in _PARTS.items():
            table = PostgresTable(engine.sessions, uuid4().hex, f"{index}.{part}", {}, searched=searched)
            statements += table.make(numbers if searched else None)
            statements.append(engine.register(table, None))
            statements.append(Ask(statement("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}", table.relation, user)))
    return "".join(f"{_written(each)};\n" for each in statements)


def _written(ask: Ask | list[Ask]) -> str:
    """Return a statement with its values filled in."""
    from psycopg.sql import Literal

    assert isinstance(ask, Ask)
    text: str = ask.statement if isinstance(ask.statement, str) else ask.statement.as_string(None)
    return text % tuple(Literal(each).as_string(None) for each in ask.values)
