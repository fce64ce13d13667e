"""A table of an index as a table of the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from leafspan.engines._marks import mark, marks_of
from leafspan.engines._port import Field, Near, Notes, Record
from leafspan.engines._tables import STEP, checked, checked_rows, in_batches
from leafspan.engines.postgres._sessions import Ask, Steps, statement
from leafspan.engines.postgres._values import loaded, loaded_metadata, stored, stored_metadata
from leafspan.flows import Call, Flow

if TYPE_CHECKING:
    from psycopg.sql import Composed

_MOST_INDEXED = 4_000  # longest vector, in numbers, that pgvector indexes in half precision. Longer ones are all compared
_LEAST_INDEXED = 20_000  # records; in smaller tables, all vectors are compared
_BUILT_WITH = "m = 16, ef_construction = 100"
_LEAST_LOOKED_AT, _MOST_LOOKED_AT = 350, 1_000  # candidates of a search in the graph. With 200, it misses 3 % of 24
_SPARE = 8  # further candidates that are compared again in full precision
_COUNTED_SECONDS = 30.0  # for which the count of records is cached
_FOR_THIS_SEARCH = "SELECT set_config(%s, %s, true)"
_COLUMNS: Mapping[Field, str] = {"text": "content", "metadata": "metadata", "vector": "vector"}


class Database(Protocol):
    """The engine's methods that a table uses.

    Attributes:
        batch: Most records of one statement.
    """

    batch: int

    @property
    def vectors(self) -> str:
        """The prefix of pgvector's names."""
        ...

    def call(self, doing: str, steps: Callable[..., Steps[Any]], *given: Any, finish: bool = False) -> Call:
        """Return the call that runs statements on a connection."""
        ...

    def named(self, *names: str) -> Composed:
        """Return the quoted name of something in the schema."""
        ...

    def annotated(self, id_: str, notes: Notes) -> Steps[None]:
        """Replace the notes of a table."""
        ...

    def locked(self) -> Steps[None]:
        """Let nobody else make or change tables until the transaction ends."""
        ...


class PostgresTable:
    """A table of the database with a table's records: see ``FlowTable``."""

    step = STEP
    searches_among = True

    def __init__(self, engine: Database, id_: str, name: str, notes: Notes, *, searched: bool) -> None:
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

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See FlowTable."""
        return set((yield from self._call("get", self._read, (), "WHERE id = ANY(%s) AND vector IS NULL", [list(ids)])))

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See FlowTable. PostgreSQL keeps its vector index up to date."""
        yield from ()
        return set()

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
