"""A table of an engine over PostgreSQL: how records are read, written and searched."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from leafspan.engines._port import Field, Near, Notes, Record, mark, marks_of
from leafspan.engines._tables import FlowTable, checked, checked_rows
from leafspan.engines.postgres._database import Ask, Sessions, Steps, statement
from leafspan.flows import Flow, np

REGISTRY = "leafspan_tables"  # the table with each table's name and notes

LOCK_TABLES = Ask("SELECT pg_advisory_xact_lock(%s)", [0x6C656166])
"""Lets nobody else make or change tables until the transaction ends."""

_MOST_INDEXED = 4_000  # longest vector, in numbers, that pgvector indexes in half precision. Longer ones are all compared
_LEAST_INDEXED = 20_000  # records; in smaller tables, all vectors are compared
_BUILT_WITH = "m = 16, ef_construction = 100"
_LEAST_LOOKED_AT, _MOST_LOOKED_AT = 350, 1_000  # candidates of a search in the graph. With 200, it misses 3 % of 24
_SPARE = 8  # further candidates that are compared again in full precision
_COUNTED_SECONDS = 30.0  # for which the count of records is cached
_FOR_THIS_SEARCH = "SELECT set_config(%s, %s, true)"
_COLUMNS: Mapping[Field, str] = {"text": "content", "metadata": "metadata", "vector": "vector"}


class PostgresTable(FlowTable):
    batch = 1_000
    searches_among = True

    def __init__(self, sessions: Sessions, id_: str, name: str, notes: Notes, *, searched: bool) -> None:
        self.id, self.name, self.notes = id_, name, notes
        self._sessions = sessions
        self.searched = searched
        self.relation = sessions.quoted(f"leafspan_{id_}")
        self._is_ready = not searched
        self._counted: tuple[float, float] | None = None  # number of records, and when they were counted

    def make(self, numbers: int | None = None) -> Steps[None]:
        """Make the table, and the index of its vectors of this length."""
        of_kind = "vector {v}vector" if self.searched else "marks text[]"
        yield self._ask('CREATE TABLE {} (id text COLLATE "C" PRIMARY KEY, content text, metadata json, ' + of_kind + ")")
        if not self.searched:
            yield self._ask("CREATE INDEX ON {} USING gin (marks)")
        elif numbers is not None:
            yield from self._index(numbers)

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]:
        return self._call("read", self._read, fields)

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        return self._call("search", self._nearest, vectors, count, fields, among)

    def annotate(self, notes: Notes) -> Flow[None]:
        return self._call("annotate", self._annotate, notes, finish=True)

    def _get(self, ids: Sequence[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        return self._call("get", self._read, fields, "WHERE id = ANY(%s)", [ids])

    def _find(self, key: str, values: Sequence[str]) -> Flow[Collection[str]]:
        if self.searched:
            options = "WHERE metadata ->> %s = ANY(%s)", [stored(key), [stored(each) for each in values]]
        else:
            options = "WHERE marks && %s", [[stored(mark(key, each)) for each in values]]
        return self._call("find", self._read, (), *options)

    def _put(self, records: Sequence[Record], new: bool) -> Flow[None]:
        yield from self._call("put", self._insert, records, finish=True)
        self._is_ready = self._is_ready or any(each.vector is not None for each in records)

    def _delete(self, ids: Sequence[str]) -> Flow[None]:
        return self._call("delete", self._remove, ids, finish=True)

    def _call(self, doing: str, steps: Callable[..., Steps[Any]], *arguments: Any, finish: bool = False) -> Flow[Any]:
        return (yield self._sessions.call(f"{doing} records of {self.name!r}", steps, *arguments, finish=finish))

    def _ask(self, text: str, values: Any = (), *, many: bool = False) -> Ask:
        """Return a statement about the table. The table's name replaces the braces, and pgvector's prefix ``{v}``."""
        return Ask(statement(text, self.relation, vectors=self._sessions.vectors), values, many)

    def _read(self, fields: Collection[Field], where: str = "", values: Sequence[Any] = ()) -> Steps[dict[str, Record]]:
        names = [each for each in _COLUMNS if each in fields and (self.searched or each != "vector")]
        rows = yield self._ask(f"SELECT {_selected(names)} FROM {{}} {where}", values)
        return checked(_record(row, names) for row in rows)

    def _insert(self, records: Sequence[Record]) -> Steps[None]:
        if not self._is_ready and (vectors := [each.vector for each in records if each.vector is not None]):
            yield from self._prepare(len(vectors[0]))
        kind = "vector" if self.searched else "marks"
        changes = ", ".join(f"{each} = EXCLUDED.{each}" for each in ("content", "metadata", kind))
        # Sorted by id, so that two writers of the same records do not wait for each other for ever.
        rows = [self._row(each) for each in sorted(records, key=lambda each: each.id)]
        insert = f"INSERT INTO {{}} (id, content, metadata, {kind}) VALUES (%s, %s, %s, %s)"
        yield self._ask(f"{insert} ON CONFLICT (id) DO UPDATE SET {changes}", rows, many=True)

    def _remove(self, ids: Sequence[str]) -> Steps[None]:
        yield self._ask("DELETE FROM {} WHERE id = ANY(%s)", [sorted(ids)])

    def _annotate(self, notes: Notes) -> Steps[None]:
        update = statement("UPDATE {} SET notes = %s WHERE id = %s", self._sessions.quoted(REGISTRY))
        yield Ask(update, [stored_metadata(notes), self.id])

    def _nearest(
        self, vectors: Any, count: int, fields: Collection[Field], among: Collection[str] | None
    ) -> Steps[list[list[Near]]]:
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
        answers = []
        for vector in matrix:
            rows = yield [*how, self._ask(question, {"vector": vector, "count": count, "among": ids})]
            answers.append([Near(_record(row[:-1], names), row[-1]) for row in rows])
        return checked_rows(answers, matrix)

    def _row(self, record: Record) -> tuple[Any, ...]:
        text = None if record.text is None else stored(record.text)
        metadata = None if record.metadata is None else stored_metadata(record.metadata)
        if not self.searched:
            return record.id, text, metadata, list(map(stored, marks_of(record.metadata or {})))
        return record.id, text, metadata, None if record.vector is None else np.asarray(record.vector, np.float32)

    def _prepare(self, numbers: int) -> Steps[None]:
        """Fix the length of vectors and index them, unless that was done before."""
        question = self._about("SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'vector'")
        if (yield question) == [(-1,)]:
            yield LOCK_TABLES
            if (yield question) == [(-1,)]:
                yield from self._index(numbers)

    def _index(self, numbers: int) -> Steps[None]:
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
    fields = {name: None if value is None else _LOAD[name](value) for name, value in zip(names, row[1:], strict=True)}
    return Record(row[0], **fields)


# U+001A, "substitute", marks an escape.
_ESCAPES = str.maketrans({"\x1a": "\x1aS", "\0": "\x1aN"})


def stored(text: str) -> str:
    """Return a text without null characters. ``loaded`` reverses it."""
    return text.translate(_ESCAPES) if "\0" in text or "\x1a" in text else text


def loaded(text: str) -> str:
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


_LOAD: Mapping[Field, Callable[[Any], Any]] = {
    "text": loaded,
    "metadata": loaded_metadata,
    "vector": lambda vector: vector.to_numpy(),
}
