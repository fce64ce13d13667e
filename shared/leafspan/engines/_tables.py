"""Engines and their tables as the rest of leafspan calls them: their methods are flows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeVar

from leafspan.checks import check_whole, shown
from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines._port import Engine, Field, Near, Notes, Record, Table
from leafspan.errors import StorageFailed
from leafspan.flows import Flow

T = TypeVar("T")

STEP = 1_000
"""The most records in one step of a progress bar. Chroma in this process blocks all other Python code during a step."""


class FlowTable(Protocol):
    """A table: see ``Table``. Each method takes any number of records, and the engine divides them into calls.

    Attributes:
        step: Records to put by one call, a step of a progress bar.
    """

    step: int

    @property
    def searches_among(self) -> bool:
        """Whether ``nearest`` takes ``among``."""
        ...

    @property
    def id(self) -> str:
        """The table's id, different from all others."""
        ...

    @property
    def name(self) -> str:
        """The table's name."""
        ...

    @property
    def notes(self) -> Notes:
        """The table's notes at the time when it was opened."""
        ...

    def get(self, ids: Collection[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """Return the records with these ids, by id."""
        ...

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """Return all records, by id."""
        ...

    def find(self, key: str, values: Collection[str]) -> Flow[set[str]]:
        """Return the ids of the records whose metadata has one of these strings under the key."""
        ...

    def put(self, records: Sequence[Record], *, new: bool = False) -> Flow[None]:
        """Write records. ``new`` says that each of them is either not stored yet, or stored unchanged."""
        ...

    def put_vectors(self, vectors: Mapping[str, Any]) -> Flow[None]:
        """Write the vectors of stored records, by id. Keep their texts and metadata."""
        ...

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        """Delete records."""
        ...

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """Return the nearest records of each vector. With ``among``, search only the records with these ids, exactly."""
        ...

    def annotate(self, notes: Notes) -> Flow[None]:
        """Replace the notes."""
        ...

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Return the ids of these records that have no vector. The result may contain ids of other records."""
        ...

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Return the ids of these records that a search by their own vector does not find. All must have one."""
        ...


class FlowEngine(Protocol):
    """An engine: see ``Engine``.

    Attributes:
        batch: Most records of one call.
        is_local: Whether the data end with the process.
        thing: The engine or the client, as the user passed it.
        described: Where it is, in a few words, such as ``"behind a client"``.
        kind: The store's word for a table, for errors.
        product: The store's name, such as ``"Chroma"``.
        caller: Calls its methods.
    """

    batch: int
    is_local: bool
    thing: Any
    described: str
    kind: str
    product: str
    caller: Caller

    def tables(self) -> Flow[Mapping[str, Notes]]:
        """Return the notes of all tables, by name."""
        ...

    def table(self, name: str) -> Flow[FlowTable | None]:
        """Return the table with this name, or None if it does not exist."""
        ...

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[FlowTable]:
        """Make a table, or open the existing one."""
        ...

    def maker(self, name: str) -> Flow[str | None]:
        """Return who wrote the records of a table that leafspan did not make, or None if the table is empty."""
        ...

    def adoptable(self) -> Flow[list[str]]:
        """Return the names of the foreign tables that ``leafspan.adopt`` can read."""
        ...

    def lock(self, id_: str, documents: Sequence[str] | None, timeout: float, what: str) -> Flow[Callable[[], None]]:
        """Lock these documents of an index, or all of them, against other processes. Call the result to unlock them.

        Engines without locks do not lock anything.

        Raises:
            WriterBusy: if another writer holds the lock for longer than the timeout. ``what`` names the locked thing.
        """
        ...

    def close(self) -> None:
        """Close the connections that were made for this engine."""
        ...


def is_engine(thing: Any) -> bool:
    """Whether an object has all members of an ``Engine``. leafspan accepts instances, not classes."""
    names = ("place", "batch", "is_local", "tables", "table", "create")
    return not isinstance(thing, type) and all(hasattr(thing, name) for name in names)


class PlainEngine:
    """The defaults that most engines share: no foreign tables, no locks, no connections of their own."""

    def maker(self, name: str) -> Flow[str | None]:
        """See FlowEngine."""
        yield from ()
        return "another program"

    def adoptable(self) -> Flow[list[str]]:
        """See FlowEngine. leafspan adopts only collections of Chroma."""
        yield from ()
        return []

    def lock(self, id_: str, documents: Sequence[str] | None, timeout: float, what: str) -> Flow[Callable[[], None]]:
        """See FlowEngine."""
        yield from ()
        return _nothing

    def close(self) -> None:
        """See FlowEngine."""


def _nothing() -> None:
    pass


class CalledTable:
    """A table of an engine whose methods are functions, or coroutine functions."""

    searches_among = False

    def __init__(self, table: Table, caller: Caller, batch: int) -> None:
        self._table = table
        self._caller = caller
        self._batch = batch
        self.step = min(STEP, batch)

    @property
    def id(self) -> str:
        """See FlowTable."""
        return self._table.id

    @property
    def name(self) -> str:
        """See FlowTable."""
        return self._table.name

    @property
    def notes(self) -> Notes:
        """See FlowTable."""
        return self._table.notes

    def get(self, ids: Collection[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """See FlowTable."""
        found: dict[str, Record] = {}
        for some in in_batches(list(dict.fromkeys(ids)), self._batch):
            found.update(self._records((yield from self._call("get", self._table.get, some, fields))))
        return found

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """See FlowTable."""
        return self._records((yield from self._call("read", self._table.scan, fields)))

    def find(self, key: str, values: Collection[str]) -> Flow[set[str]]:
        """See FlowTable."""
        found: set[str] = set()
        for some in in_batches(list(values), self._batch):
            found.update((yield from self._call("find", self._table.find, key, some)))
        return found

    def put(self, records: Sequence[Record], *, new: bool = False) -> Flow[None]:
        """See FlowTable."""
        for some in in_batches(records, self._batch):
            yield from self._call("put", self._table.put, some, writes=True)

    def put_vectors(self, vectors: Mapping[str, Any]) -> Flow[None]:
        """See FlowTable."""
        stored = yield from self.get(list(vectors), ["text", "metadata"])
        yield from self.put([record._replace(vector=vectors[id_]) for id_, record in stored.items()])

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        """See FlowTable."""
        for some in in_batches(ids, self._batch):
            yield from self._call("delete", self._table.delete, some, writes=True)

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """See FlowTable."""
        rows = yield from self._call("search", self._table.nearest, vectors, count, fields)
        try:
            return [[Near(record, max(-1.0, min(1.0, float(score)))) for record, score in row] for row in rows]
        except (TypeError, ValueError):
            raise self._unusable(rows, "a list of Near for each vector") from None

    def annotate(self, notes: Notes) -> Flow[None]:
        """See FlowTable."""
        yield from self._call("annotate", self._table.annotate, notes, writes=True)

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See FlowTable."""
        return {id_ for id_, record in (yield from self.get(ids, ["vector"])).items() if record.vector is None}

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See FlowTable. Such an engine's search finds every stored vector."""
        yield from ()
        return set()

    def _records(self, answer: Any) -> dict[str, Record]:
        if not isinstance(answer, Sequence) or not all(isinstance(each, Record) for each in answer):
            raise self._unusable(answer, "Records")
        return {each.id: each for each in answer}

    def _unusable(self, answer: Any, wanted: str) -> StorageFailed:
        return StorageFailed(
            f"cannot use an answer of {self._caller.place} for {self.name!r}: an engine gives {wanted}, got {shown(answer)}"
        )

    def _call(self, doing: str, method: Callable[..., Any], *arguments: Any, writes: bool = False) -> Flow[Any]:
        return (yield self._caller.call(f"{doing} records of {self.name!r}", method, arguments, finish=writes))


class CalledEngine(PlainEngine):
    """An engine whose methods are functions, or coroutine functions."""

    def __init__(self, engine: Engine, timeout: float) -> None:
        self.thing = engine
        self.batch = check_whole("batch", engine.batch, 1)
        self.is_local = engine.is_local
        self.described = f"in {engine.place}"
        self.kind = "table"
        self.product = type(engine).__name__
        seconds = None if engine.is_local else max(timeout, LEAST_SECONDS)
        self.caller = Caller(engine.place, iscoroutinefunction(engine.table), seconds)

    def tables(self) -> Flow[Mapping[str, Notes]]:
        """See FlowEngine."""
        return (yield self.caller.call("list the tables", self.thing.tables))  # type: ignore[no-any-return]

    def table(self, name: str) -> Flow[FlowTable | None]:
        """See FlowEngine."""
        table = yield self.caller.call(f"open the table {name!r}", self.thing.table, (name,))
        return None if table is None else CalledTable(table, self.caller, self.batch)

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[FlowTable]:
        """See FlowEngine."""
        how = {"searched": searched}
        table = yield self.caller.call(f"make the table {name!r}", self.thing.create, (name, notes), how, finish=True)
        return CalledTable(table, self.caller, self.batch)


def in_batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Return the items in pieces of this size; the last piece may be shorter."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
