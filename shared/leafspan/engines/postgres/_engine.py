"""An engine over a PostgreSQL database with pgvector. Each table of an index is a table of the database.

A registry, ``leafspan_tables``, has each table's name and notes. leafspan makes tables when it first uses them. It
searches vectors exactly in small tables, and through a graph (HNSW) in larger ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines._port import Field, Near, Notes, Record, mark, marks_of
from leafspan.engines._tables import STEP, PlainEngine, PlainTable, checked, checked_rows, in_batches
from leafspan.engines.postgres._database import Postgres, check_installed, translated
from leafspan.engines.postgres._sessions import PLACE_OF_VECTORS, Ask, Locks, Sessions, Steps, statement
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
        """Whether this version has made tables."""
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


_MOST_INDEXED = 4_000  # longest vector, in numbers, that pgvector indexes in half precision. Longer ones are all compared
_LEAST_INDEXED = 20_000  # records; in smaller tables, all vectors are compared
_BUILT_WITH = "m = 16, ef_construction = 100"
_LEAST_LOOKED_AT, _MOST_LOOKED_AT = 350, 1_000  # candidates of a search in the graph. With 200, it misses 3 % of 24
_SPARE = 8  # further candidates that are compared again in full precision
_COUNTED_SECONDS = 30.0  # for which the count of records is cached
_FOR_THIS_SEARCH = "SELECT set_config(%s, %s, true)"
_COLUMNS: Mapping[Field, str] = {"text": "content", "metadata": "metadata", "vector": "vector"}


class PostgresTable(PlainTable):
    """A table of the database with a table's records: see ``FlowTable``."""

    step = STEP
    searches_among = True

    def __init__(self, engine: PostgresEngine, id_: str, name: str, notes: Notes, *, searched: bool) -> None:
        self.id = id_
        self.name = name
        self.notes = notes
        self._engine = engine
        self._searched = searched
        self.relation = engine.named(f"leafspan_{id_}")
        self._is_ready = not searched
        self._counted: tuple[float, float] | None = None  # number of records, and when they were counted

    def made(self, numbers: int | None = None) -> Steps[None]:
        """Make the table, and the index of its vectors of this length."""
        of_kind = "vector {v}vector" if self._searched else "marks text[]"
        yield self._ask('CREATE TABLE {} (id text COLLATE "C" PRIMARY KEY, content text, metadata json, ' + of_kind + ")")
        if not self._searched:
            yield self._ask("CREATE INDEX ON {} USING gin (marks)")
        elif numbers is not None:
            yield from self._indexed(numbers)

    def get(self, ids: Collection[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """See FlowTable."""
        found: dict[str, Record] = {}
        for some in in_batches(list(dict.fromkeys(ids)), self._engine.batch):
            found.update((yield from self._call("get", self._read, fields, "WHERE id = ANY(%s)", [some])))
        return found

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """See FlowTable."""
        return (yield from self._call("read", self._read, fields))  # type: ignore[no-any-return]

    def find(self, key: str, values: Collection[str]) -> Flow[set[str]]:
        """See FlowTable."""
        if self._searched:
            where, given = "WHERE metadata ->> %s = ANY(%s)", [stored(key), [stored(each) for each in values]]
        else:
            where, given = "WHERE marks && %s", [[stored(mark(key, each)) for each in values]]
        return set((yield from self._call("find", self._read, (), where, given))) if values else set()

    def put(self, records: Sequence[Record], *, new: bool = False) -> Flow[None]:
        """See FlowTable."""
        for some in in_batches(records, self._engine.batch):
            yield from self._call("put", self._put, some, finish=True)
            self._is_ready = self._is_ready or any(each.vector is not None for each in some)

    def put_vectors(self, vectors: Mapping[str, Any]) -> Flow[None]:
        """See FlowTable."""
        import numpy as np

        rows = [(np.asarray(vector, np.float32), id_) for id_, vector in sorted(vectors.items())]
        for some in in_batches(rows, self._engine.batch):
            yield from self._call("put", self._put_vectors, some, finish=True)

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        """See FlowTable."""
        for some in in_batches(ids, self._engine.batch):
            yield from self._call("delete", self._delete, some, finish=True)

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """See FlowTable."""
        return (yield from self._call("search", self._nearest, vectors, count, fields, among))  # type: ignore[no-any-return]

    def annotate(self, notes: Notes) -> Flow[None]:
        """See FlowTable."""
        yield from self._call("annotate", self._engine.annotated, self.id, notes, finish=True)

    def _call(self, doing: str, steps: Callable[..., Steps[Any]], *given: Any, finish: bool = False) -> Flow[Any]:
        return (yield self._engine.call(f"{doing} records of {self.name!r}", steps, *given, finish=finish))

    def _ask(self, text: str, values: Any = (), *, many: bool = False) -> Ask:
        """Return a statement about the table. The table's name replaces the braces, and pgvector's prefix ``{v}``."""
        return Ask(statement(text, self.relation, vectors=self._engine.vectors), values, many)

    def _read(self, fields: Collection[Field], where: str = "", given: Sequence[Any] = ()) -> Steps[dict[str, Record]]:
        names = [each for each in _COLUMNS if each in fields and (self._searched or each != "vector")]
        rows = yield self._ask(f"SELECT {_selected(names)} FROM {{}} {where}", given)
        return checked(_record(row, names) for row in rows)

    def _put(self, records: Sequence[Record]) -> Steps[None]:
        if not self._is_ready and (vectors := [each.vector for each in records if each.vector is not None]):
            yield from self._prepared(len(vectors[0]))
        kind = "vector" if self._searched else "marks"
        changes = ", ".join(f"{each} = EXCLUDED.{each}" for each in ("content", "metadata", kind))
        # Sorted by id, so that two writers of the same records do not wait for each other for ever.
        rows = [self._row(each) for each in sorted(records, key=lambda each: each.id)]
        insert = f"INSERT INTO {{}} (id, content, metadata, {kind}) VALUES (%s, %s, %s, %s)"
        yield self._ask(f"{insert} ON CONFLICT (id) DO UPDATE SET {changes}", rows, many=True)

    def _put_vectors(self, rows: Sequence[tuple[Any, str]]) -> Steps[None]:
        yield self._ask("UPDATE {} SET vector = %s WHERE id = %s", rows, many=True)

    def _delete(self, ids: Sequence[str]) -> Steps[None]:
        yield self._ask("DELETE FROM {} WHERE id = ANY(%s)", [sorted(ids)])

    def _nearest(
        self, vectors: Any, count: int, fields: Collection[Field], among: Collection[str] | None
    ) -> Steps[list[list[Near]]]:
        import numpy as np

        names = [each for each in _COLUMNS if each in fields]
        matrix = np.asarray(vectors, np.float32)
        how: list[Ask] = []
        source, distance = "{}", "vector OPERATOR({v}<=>) %(vector)s"
        if among is None and (how := (yield from self._search(count, matrix.shape[1]))):
            halved = f"{_halved('vector', matrix.shape[1])} OPERATOR({{v}}<=>) {_halved('%(vector)s', matrix.shape[1])}"
            nearest = f"WHERE vector IS NOT NULL ORDER BY {halved} LIMIT {count + _SPARE}"
            source = f"(SELECT * FROM {{}} {nearest}) AS candidates"
        where = "vector IS NOT NULL" if among is None else "vector IS NOT NULL AND id = ANY(%(among)s)"
        selected = f"SELECT {_selected(names)}, 1 - ({distance}) FROM {source}"
        question = f"{selected} WHERE {where} ORDER BY {distance} LIMIT %(count)s"
        ids = None if among is None else list(among)
        found = []
        for vector in matrix:
            rows = yield [*how, self._ask(question, {"vector": vector, "count": count, "among": ids})]
            found.append([Near(_record(row[:-1], names), row[-1]) for row in rows])
        return checked_rows(found, matrix)

    def _row(self, record: Record) -> tuple[Any, ...]:
        import numpy as np

        text = None if record.text is None else stored(record.text)
        metadata = None if record.metadata is None else stored_metadata(record.metadata)
        if not self._searched:
            return record.id, text, metadata, list(map(stored, marks_of(record.metadata or {})))
        return record.id, text, metadata, None if record.vector is None else np.asarray(record.vector, np.float32)

    def _prepared(self, numbers: int) -> Steps[None]:
        """Fix the length of vectors and index them, unless that was done before."""
        question = self._about("SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'vector'")
        if (yield question) == [(-1,)]:
            yield from self._engine.locked()
            if (yield question) == [(-1,)]:
                yield from self._indexed(numbers)

    def _indexed(self, numbers: int) -> Steps[None]:
        yield self._ask(f"ALTER TABLE {{}} ALTER vector TYPE {{v}}vector({numbers})")
        if numbers <= _MOST_INDEXED:
            of_half = f"(({_halved('vector', numbers)}) {{v}}halfvec_cosine_ops)"
            yield self._ask(f"CREATE INDEX ON {{}} USING hnsw {of_half} WITH ({_BUILT_WITH})")

    def _search(self, count: int, numbers: int) -> Steps[list[Ask]]:
        """Return the settings for a search in the graph, or an empty list where all vectors are compared."""
        if self._counted is None or time.monotonic() > self._counted[1] + _COUNTED_SECONDS:
            [(size,)] = yield self._about("SELECT reltuples FROM pg_class WHERE oid = %s::regclass")
            self._counted = size, time.monotonic()
        if self._counted[0] < _LEAST_INDEXED or count * 2 > _MOST_LOOKED_AT or numbers > _MOST_INDEXED:
            return []
        looked_at = str(min(_MOST_LOOKED_AT, max(_LEAST_LOOKED_AT, count * 4)))
        options = {"hnsw.ef_search": looked_at, "hnsw.iterative_scan": "strict_order"}
        return [Ask(_FOR_THIS_SEARCH, list(each)) for each in options.items()]

    def _about(self, question: str) -> Ask:
        return Ask(question, [self.relation.as_string(None)])


def _halved(vector: str, numbers: int) -> str:
    """Return a vector as it is indexed: with length 1, since half precision has no large numbers."""
    return f"{{v}}l2_normalize({vector})::{{v}}halfvec({numbers})"


def _selected(names: Sequence[Field]) -> str:
    return ", ".join(["id", *(_COLUMNS[each] for each in names)])


def _record(row: Sequence[Any], names: Sequence[Field]) -> Record:
    """Return the record in a row: its id, and the fields with these names."""
    load: Mapping[Field, Callable[[Any], Any]] = {
        "text": loaded,
        "metadata": loaded_metadata,
        "vector": lambda vector: vector.to_numpy(),
    }
    fields = {name: None if value is None else load[name](value) for name, value in zip(names, row[1:], strict=True)}
    return Record(row[0], **fields)


# U+001A, "substitute", marks an escape.
_ESCAPES = str.maketrans({"\x1a": "\x1aS", "\0": "\x1aN"})


def stored(text: str) -> str:
    """Return a text without null characters. ``loaded`` reverses it."""
    return text.translate(_ESCAPES) if "\0" in text or "\x1a" in text else text


def loaded(text: str) -> str:
    """Return the text that was passed to ``stored``."""
    return text.replace("\x1aN", "\0").replace("\x1aS", "\x1a") if "\x1a" in text else text


def stored_metadata(metadata: Mapping[str, Any]) -> str:
    """Return metadata as JSON. Numbers keep their type, since PostgreSQL stores the JSON as text."""
    return json.dumps(_changed(dict(metadata), stored), ensure_ascii=False, separators=(",", ":"))


def loaded_metadata(content: Any) -> dict[str, Any]:
    """Return the metadata that were passed to ``stored_metadata``, from the driver's parsed JSON."""
    return _changed(content, loaded)  # type: ignore[no-any-return]


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _changed(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(each, change) for each in value]
    return value
