"""An engine over a PostgreSQL database with pgvector. Each table of an index is a table of the database.

A registry, ``leafspan_tables``, has each table's name and notes. leafspan makes tables when it first uses them. It
searches vectors exactly in small tables, and through a graph (HNSW) in larger ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines._port import Notes
from leafspan.engines._tables import PlainEngine
from leafspan.engines.postgres._database import Postgres, check_installed
from leafspan.engines.postgres._failures import translated
from leafspan.engines.postgres._locks import Locks
from leafspan.engines.postgres._sessions import PLACE_OF_VECTORS, Ask, Sessions, Steps, statement
from leafspan.engines.postgres._table import PostgresTable
from leafspan.engines.postgres._values import loaded, loaded_metadata, stored, stored_metadata
from leafspan.errors import IndexMismatch
from leafspan.flows import Call, Flow

if TYPE_CHECKING:
    from psycopg.sql import Composed

REGISTRY = "leafspan_tables"
_VERSION = "leafspan tables, version 1"  # a comment on the registry
_LOCK = 0x6C656166  # held while making tables, so that only one process makes them


class PostgresEngine(PlainEngine):
    """A database that has tables of indexes: see ``FlowEngine``."""

    batch = 1_000
    is_local = False
    kind = "table"
    product = "PostgreSQL"

    def __init__(self, database: Postgres, timeout: float) -> None:
        check_installed()
        self.thing = database
        self.described = f"in {database.place}"
        self._sessions = Sessions(database.pool)
        self.caller = Caller(database.place, self._sessions.native, max(timeout, LEAST_SECONDS), translate=translated)
        self._locks = Locks(database.pool)

    def tables(self) -> Flow[Mapping[str, Notes]]:
        """See FlowEngine."""
        return (yield self.call("list the tables", self._tables))  # type: ignore[no-any-return]

    def table(self, name: str) -> Flow[PostgresTable | None]:
        """See FlowEngine."""
        return (yield self.call(f"open the table {name!r}", self._table, name))  # type: ignore[no-any-return]

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[PostgresTable]:
        """See FlowEngine."""
        made = partial(self._created, searched=searched)
        return (yield self.call(f"make the table {name!r}", made, name, notes, finish=True))  # type: ignore[no-any-return]

    def lock(self, id_: str, documents: Sequence[str] | None, timeout: float, what: str) -> Flow[Callable[[], None]]:
        """See FlowEngine."""
        blocking = Caller(self.caller.place, False, timeout + LEAST_SECONDS, translate=translated)
        given = (id_, documents, timeout, what)
        return (yield blocking.call("lock documents", self._locks.acquire, given, finish=True))  # type: ignore[no-any-return]

    def close(self) -> None:
        """See FlowEngine."""
        self._locks.close()
        if self.thing.closes:
            self.thing.pool.close()

    def call(self, doing: str, steps: Callable[..., Steps[Any]], *given: Any, finish: bool = False) -> Call:
        """Return the call that runs statements on a connection. With ``finish``, they are one transaction."""
        return self.caller.call(doing, self._sessions.function(writes=finish), (steps, *given), finish=finish)

    @property
    def vectors(self) -> str:
        """The prefix of pgvector's names: see ``Sessions``."""
        return self._sessions.vectors

    def named(self, *names: str) -> Composed:
        """Return the quoted name of something in the schema, or the schema's own name."""
        from psycopg.sql import SQL, Identifier

        return SQL("{}").format(Identifier(self.thing.schema, *names))

    def annotated(self, id_: str, notes: Notes) -> Steps[None]:
        """Replace the notes of a table."""
        yield self._ask("UPDATE {} SET notes = %s WHERE id = %s", stored_metadata(notes), id_)

    def locked(self) -> Steps[None]:
        """Let nobody else make or change tables until the transaction ends."""
        yield Ask("SELECT pg_advisory_xact_lock(%s)", [_LOCK])

    def _tables(self) -> Steps[dict[str, Notes]]:
        if not (yield from self._has_registry()):
            return {}
        rows = yield self._ask("SELECT name, notes FROM {} WHERE notes IS NOT NULL")
        return {loaded(name): dict(loaded_metadata(notes)) for name, notes in rows}

    def _table(self, name: str) -> Steps[PostgresTable | None]:
        if not (yield from self._has_registry()):
            return None
        rows = yield self._ask("SELECT id, notes, searched FROM {} WHERE name = %s AND notes IS NOT NULL", stored(name))
        return (
            PostgresTable(self, rows[0][0], name, dict(loaded_metadata(rows[0][1])), searched=rows[0][2]) if rows else None
        )

    def _created(self, name: str, notes: Notes, *, searched: bool) -> Steps[PostgresTable]:
        if (found := (yield from self._table(name))) is not None:
            return found
        yield from self.locked()
        if not (yield from self._has_registry()):
            yield from self._registry_made()
        if (found := (yield from self._table(name))) is not None:
            return found
        # A script may have made the table without notes.
        content = stored_metadata(notes)
        taken = yield self._ask("UPDATE {} SET notes = %s WHERE name = %s RETURNING id, searched", content, stored(name))
        if taken:
            return PostgresTable(self, taken[0][0], name, dict(notes), searched=taken[0][1])
        table = PostgresTable(self, uuid4().hex, name, dict(notes), searched=searched)
        yield from table.made()
        yield self.registered(table, content, searched=searched)
        return table

    def registered(self, table: PostgresTable, notes: str | None, *, searched: bool) -> Ask:
        """Return the statement that writes a table into the registry."""
        insert = "INSERT INTO {} (id, name, notes, searched) VALUES (%s, %s, %s, %s)"
        return self._ask(insert, table.id, stored(table.name), notes, searched)

    def _has_registry(self) -> Steps[bool]:
        """Whether this version has made tables.

        Raises:
            IndexMismatch: if another version has made them.
        """
        question = "SELECT obj_description(to_regclass(%s), 'pg_class'), to_regclass(%s) IS NOT NULL"
        name = self.named(REGISTRY).as_string(None)
        [(version, is_there)] = yield Ask(question, [name, name])
        if is_there and version != _VERSION:
            raise IndexMismatch(
                f"the tables in {self.thing.place} are {version!r}, and this version of leafspan reads {_VERSION!r}: open "
                "them with the version that made them, or copy the index to another schema"
            )
        return bool(is_there)

    def _registry_made(self) -> Steps[None]:
        if not (yield Ask(PLACE_OF_VECTORS)):
            yield Ask("CREATE EXTENSION IF NOT EXISTS vector")
            [(place,)] = yield Ask(PLACE_OF_VECTORS)
            self._sessions.vectors = f"{place}."
        if (yield Ask("SELECT to_regnamespace(%s)", [self.named().as_string(None)])) == [(None,)]:
            yield Ask(statement("CREATE SCHEMA IF NOT EXISTS {}", self.named()))
        yield from self.registry()

    def registry(self) -> Steps[None]:
        """Make the registry."""
        yield self._ask(
            'CREATE TABLE IF NOT EXISTS {} (id text PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, '
            "notes json, searched boolean NOT NULL)"
        )
        yield self._ask(f"COMMENT ON TABLE {{}} IS '{_VERSION}'")

    def _ask(self, text: str, *values: Any) -> Ask:
        """Return a statement about the registry. The registry's name replaces the braces."""
        return Ask(statement(text, self.named(REGISTRY)), values)
