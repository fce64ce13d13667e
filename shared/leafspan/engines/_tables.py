"""Engines and their tables as the rest of leafspan calls them: their methods are flows."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeVar

from leafspan.checks import check_whole, shown
from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines._port import Engine, Field, Near, Notes, Record, Table
from leafspan.flows import Flow, np

T = TypeVar("T")

STEP = 1_000
"""The most records in one step of a progress bar. Chroma in this process blocks all other Python code during a step."""


class FlowTable(Protocol):
    """A table: see ``Table``. Each method takes any number of records, and divides them into calls of ``batch`` records."""

    id: str
    name: str
    notes: Notes  # when the table was opened
    batch: int  # most records of one call
    most_characters: float = math.inf  # of the texts and metadata that one call writes, except of a single record
    searches_among: bool = False  # whether ``nearest`` takes ``among``

    def get(self, ids: Collection[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        records: dict[str, Record] = {}
        for some in in_batches(list(dict.fromkeys(ids)), self.batch):
            records.update((yield from self._get(some, fields)))
        return records

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]: ...

    def find(self, key: str, values: Collection[str]) -> Flow[set[str]]:
        ids: set[str] = set()
        for some in in_batches(list(values), self.batch):
            ids.update((yield from self._find(key, some)))
        return ids

    def put(self, records: Sequence[Record], *, new: bool = False) -> Flow[None]:
        """Write records. ``new`` says that each of them is either not stored yet, or stored unchanged."""
        start = characters = 0
        for end, record in enumerate(records):
            size = len(record.text or "")
            size += sum(len(key) + len(str(value)) for key, value in (record.metadata or {}).items())
            if start < end and (end - start == self.batch or characters + size > self.most_characters):
                yield from self._put(records[start:end], new)
                start, characters = end, 0
            characters += size
        if records:
            yield from self._put(records[start:], new)

    def put_vectors(self, vectors: Mapping[str, Any]) -> Flow[None]:
        """Write the vectors of stored records, by id. Keep their texts and metadata."""
        stored = yield from self.get(list(vectors), ["text", "metadata"])
        yield from self.put([record._replace(vector=vectors[id_]) for id_, record in stored.items()])

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        for start in range(0, len(ids), self.batch):
            yield from self._delete(ids[start : start + self.batch])

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """Return the nearest records of each vector. With ``among``, search only the records with these ids, exactly."""

    def annotate(self, notes: Notes) -> Flow[None]: ...

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Return the ids of these records that have no vector. The result may contain ids of other records."""
        return {id_ for id_, record in (yield from self.get(ids, ["vector"])).items() if record.vector is None}

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Return the ids of these records that a search by their own vector does not find. All must have one."""
        yield from ()
        return set()

    # These get at most ``batch`` records.

    def _get(self, ids: Sequence[str], fields: Collection[Field]) -> Flow[dict[str, Record]]: ...

    def _find(self, key: str, values: Sequence[str]) -> Flow[Collection[str]]: ...

    def _put(self, records: Sequence[Record], new: bool) -> Flow[None]: ...

    def _delete(self, ids: Sequence[str]) -> Flow[None]: ...


class FlowEngine(Protocol):
    """An engine: see ``Engine``. Most engines have no foreign tables, no locks, and no connections of their own."""

    batch: int  # most records of one call
    is_local: bool  # whether the data end with the process
    thing: Any  # the engine or the client, as the user passed it
    described: str  # where it is, such as "behind a client"
    kind: str = "table"  # the store's word for a table, for errors
    product: str  # the store's name, such as "Chroma"
    caller: Caller

    def tables(self) -> Flow[Mapping[str, Notes]]: ...

    def table(self, name: str) -> Flow[FlowTable | None]: ...

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[FlowTable]: ...

    def maker(self, name: str) -> Flow[str | None]:
        """Return who wrote the records of a table that leafspan did not make, or None if the table is empty."""
        yield from ()
        return "another program"

    def adoptable(self) -> Flow[list[str]]:
        """Return the names of the foreign tables that ``leafspan.adopt`` can read."""
        yield from ()
        return []

    def lock(self, id_: str, documents: Sequence[str] | None, timeout: float, what: str) -> Flow[Callable[[], None]]:
        """Lock these documents of an index, or all of them, against other processes. Call the result to unlock them."""
        yield from ()
        return lambda: None

    def drop(self, name: str) -> Flow[None]:
        """Delete a table if it exists, or in an engine without this, its records."""
        if (table := (yield from self.table(name))) is not None:
            yield from table.delete(list((yield from table.scan([]))))

    def close(self) -> None:
        """Close the connections that were made for this engine."""
        return


def is_engine(thing: Any) -> bool:
    """Whether an object has all members of an ``Engine``. leafspan accepts instances, not classes."""
    names = ("place", "batch", "is_local", "tables", "table", "create")
    return not isinstance(thing, type) and all(hasattr(thing, name) for name in names)


class CalledTable(FlowTable):
    """A table of an engine whose methods are functions, or coroutine functions."""

    def __init__(self, table: Table, caller: Caller, batch: int) -> None:
        self.id, self.name, self.notes = str(table.id), str(table.name), dict(table.notes)
        self.batch = batch
        self._table = table
        self._caller = caller

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]:
        return self._call("read", self._table.scan, fields, read=checked)

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        return self._call(
            "search", self._table.nearest, vectors, count, fields, read=partial(checked_rows, vectors=vectors)
        )

    def annotate(self, notes: Notes) -> Flow[None]:
        return self._call("annotate", self._table.annotate, notes, writes=True)

    def _get(self, ids: Sequence[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        return self._call("get", self._table.get, ids, fields, read=partial(checked, ids=ids))

    def _find(self, key: str, values: Sequence[str]) -> Flow[Collection[str]]:
        return self._call("find", self._table.find, key, values, read=_texts)

    def _put(self, records: Sequence[Record], new: bool) -> Flow[None]:
        return self._call("put", self._table.put, records, writes=True)

    def _delete(self, ids: Sequence[str]) -> Flow[None]:
        return self._call("delete", self._table.delete, ids, writes=True)

    def _call(
        self, doing: str, method: Callable[..., Any], *arguments: Any, writes: bool = False, read: Any = None
    ) -> Flow[Any]:
        return (yield self._caller.call(f"{doing} records of {self.name!r}", method, arguments, finish=writes, read=read))


class CalledEngine(FlowEngine):
    """An engine whose methods are functions, or coroutine functions."""

    def __init__(self, engine: Engine, timeout: float) -> None:
        self.thing = engine
        self.batch = check_whole("batch", engine.batch, 1)
        self.is_local = engine.is_local
        self.described = f"in {engine.place}"
        self.product = type(engine).__name__
        seconds = None if engine.is_local else max(timeout, LEAST_SECONDS)
        self.caller = Caller(engine.place, iscoroutinefunction(engine.table), seconds)

    def tables(self) -> Flow[Mapping[str, Notes]]:
        return (yield self.caller.call("list the tables", self.thing.tables, read=dict))  # type: ignore[no-any-return]

    def table(self, name: str) -> Flow[FlowTable | None]:
        doing, read = f"open the table {name!r}", self._flow_table
        return (yield self.caller.call(doing, self.thing.table, (name,), read=read))  # type: ignore[no-any-return]

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[FlowTable]:
        doing, options, read = f"make the table {name!r}", {"searched": searched}, self._flow_table
        make = self.thing.create
        return (yield self.caller.call(doing, make, (name, notes), options, finish=True, read=read))  # type: ignore[no-any-return]

    def _flow_table(self, table: Table | None) -> CalledTable | None:
        return None if table is None else CalledTable(table, self.caller, self.batch)


def checked(records: Iterable[Record], ids: Collection[str] | None = None) -> dict[str, Record]:
    """Return an engine's records by id. With ``ids``, leave out others."""
    wanted = None if ids is None else set(ids)
    by_id: dict[str, Record] = {}
    for record in records if isinstance(records, Iterable) else [records]:
        match record:
            case Record(str(id_), str() | None, None | Mapping(), vector):
                if vector is not None and np.asarray(vector, np.float32).ndim != 1:
                    raise ValueError(f"a vector must be a list of numbers, got {shown(vector)}")
            case _:
                raise TypeError(f"an engine gives Records of an id, a text, metadata and a vector, got {shown(record)}")
        if wanted is None or id_ in wanted:
            by_id[id_] = record
    return by_id


def checked_rows(rows: Sequence[Sequence[Near]], vectors: Any) -> list[list[Near]]:
    """Return what an engine has found for each vector, with similarities in [-1, 1], and 0 for a vector of zeros."""
    if len(rows) != len(vectors):
        raise ValueError(f"{len(vectors)} vectors must have as many rows, got {len(rows)}")
    answers = []
    for row in rows:
        records = checked(record for record, _ in row).values()
        scores = [0.0 if math.isnan(score) else max(-1.0, min(1.0, float(score))) for _, score in row]
        answers.append([Near(*each) for each in zip(records, scores, strict=True)])
    return answers


def _texts(ids: Iterable[str]) -> set[str]:
    return {id_ for id_ in ids if isinstance(id_, str)}


def in_batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Return the items in pieces of this size; the last piece may be shorter."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
