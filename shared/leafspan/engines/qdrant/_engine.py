"""An engine over a Qdrant client. Each table of an index is a collection, made when its first records are written.

A registry, the collection ``leafspan_tables``, has each table's name and notes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, uuid4, uuid5
from weakref import WeakKeyDictionary

from leafspan.engines._caller import LEAST_SECONDS, Caller, failure, in_one_line, late_answer
from leafspan.engines._port import MOST_RESULTS, Field, Near, Notes, Record, mark, marks_of
from leafspan.engines._tables import FlowEngine, FlowTable, checked, checked_rows
from leafspan.flows import Call, Flow, np

T = TypeVar("T")

_REGISTRY = "leafspan_tables"
_MUTEXES: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()  # Qdrant in this process is not thread-safe


class QdrantEngine(FlowEngine):
    batch = 1_000
    kind = "collection"
    product = "Qdrant"

    def __init__(self, client: Any, timeout: float) -> None:
        self.thing = client
        self.described = "behind a client of Qdrant"
        within = getattr(client, "_client", None)
        self.in_process = type(within).__module__.startswith(("qdrant_client.local", "qdrant_client.async_qdrant_local"))
        self.is_local = self.in_process and not getattr(within, "persistent", False)
        native = iscoroutinefunction(client.query_points)
        place = "the Qdrant in this process" if self.in_process else "the Qdrant server"
        self.caller = Caller(place, native, None if self.in_process else max(timeout, LEAST_SECONDS), translate=_translated)
        self._mutex = _MUTEXES.setdefault(client, threading.Lock())

    def tables(self) -> Flow[Mapping[str, Notes]]:
        if not (yield from self.exists(_REGISTRY)):
            return {}
        return (yield from self.scroll("list the tables", _REGISTRY, _notes_by_name))

    def table(self, name: str) -> Flow[QdrantTable | None]:
        if not (yield from self.exists(_REGISTRY)):
            return None
        where: dict[str, Any] = {"collection_name": _REGISTRY, "ids": [point_id(name)]}
        return (yield self.call(f"open {name!r}", "retrieve", read=self._table, **where))  # type: ignore[no-any-return]

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[QdrantTable]:
        from qdrant_client import models

        yield from self.make(_REGISTRY, None)
        row = {"id": uuid4().hex, "name": name, "notes": json.dumps(dict(notes), ensure_ascii=False), "searched": searched}
        # The first process makes the table, and all others use it.
        yield self.call(
            f"make {name!r}",
            "upsert",
            finish=True,
            collection_name=_REGISTRY,
            points=[models.PointStruct(id=point_id(name), vector={}, payload=row)],
            update_mode=models.UpdateMode.INSERT_ONLY,
        )
        table = yield from self.table(name)
        assert table is not None
        return table

    def drop(self, name: str) -> Flow[None]:
        if (table := (yield from self.table(name))) is not None:
            yield self.call(f"drop {name!r}", "delete_collection", finish=True, collection_name=table.collection)
            where: dict[str, Any] = {"collection_name": _REGISTRY, "points_selector": [point_id(name)]}
            yield self.call(f"drop {name!r}", "delete", finish=True, **where)

    def exists(self, collection: str) -> Flow[bool]:
        return bool((yield self.call(f"look for {collection!r}", "collection_exists", collection_name=collection)))

    def make(self, collection: str, numbers: int | None) -> Flow[None]:
        """Make a missing collection, with vectors of ``numbers`` numbers, or without vectors."""
        from qdrant_client import models

        if (yield from self.exists(collection)):
            return
        vectors = {} if numbers is None else {"vector": models.VectorParams(size=numbers, distance=models.Distance.COSINE)}
        what = f"make {collection!r}"
        try:
            yield self.call(what, "create_collection", finish=True, collection_name=collection, vectors_config=vectors)
        except Exception:
            if not (yield from self.exists(collection)):  # otherwise another process made it meanwhile
                raise
        if numbers is None and collection != _REGISTRY and not self.in_process:
            index: dict[str, Any] = {"field_name": "marks", "field_schema": models.PayloadSchemaType.KEYWORD}
            yield self.call(what, "create_payload_index", finish=True, collection_name=collection, **index)

    def scroll(
        self, doing: str, collection: str, read: Callable[[Sequence[Any]], dict[str, T]], **options: Any
    ) -> Flow[dict[str, T]]:
        """Return what ``read`` makes of all points of a collection, page by page."""
        values: dict[str, T] = {}
        start: Any = None
        while True:
            page = {"collection_name": collection, "limit": _PAGE, "offset": start, **options}
            some, start = yield self.call(doing, "scroll", read=lambda answer: (read(answer[0]), answer[1]), **page)
            values.update(some)
            if start is None:
                return values

    def call(
        self, doing: str, method: str, *, finish: bool = False, read: Callable[[Any], Any] | None = None, **options: Any
    ) -> Call:
        """Return the call of one of the client's methods. ``read`` makes the result from its answer."""
        function = getattr(self.thing, method)
        if self.in_process and not self.caller.native:
            return self.caller.call(doing, self._alone, (function,), options, finish=finish, read=read)
        return self.caller.call(doing, function, (), options, finish=finish, read=read)

    def _table(self, points: Sequence[Any]) -> QdrantTable | None:
        """Return the table that a point of the registry describes, or None without a point."""
        for row in (each.payload for each in points):
            notes, searched = dict(json.loads(row["notes"])), bool(row["searched"])
            return QdrantTable(self, str(row["id"]), str(row["name"]), notes, searched=searched)
        return None

    def _alone(self, function: Callable[..., Any], /, **options: Any) -> Any:
        with self._mutex:
            return function(**options)


def _notes_by_name(points: Sequence[Any]) -> dict[str, Notes]:
    return {str(each.payload["name"]): dict(json.loads(each.payload["notes"])) for each in points}


def _translated(error: BaseException, doing: str, place: str, *, server: bool, writing: bool) -> BaseException | None:
    source = getattr(error, "source", error)
    kinds = {kind.__name__ for kind in type(source).__mro__}
    if "TimeoutException" in kinds:
        return late_answer(doing, place, in_one_line(source), writing=writing)
    return failure(error, doing, place, server=server, writing=writing)


_PAGE = 1_000  # records of a page
_LEAST_LOOKED_AT = 200  # candidates of a search in the graph


def point_id(id_: str) -> str:
    """Return the point id of a record: Qdrant accepts only UUIDs and numbers."""
    return str(uuid5(NAMESPACE_URL, f"leafspan:{id_}"))


class QdrantTable(FlowTable):
    """A Qdrant collection: see ``FlowTable``. A record is a point, whose payload has its id, text and metadata.

    The payload stores metadata as JSON, to keep types. It also stores strings in metadata as marks, by which they are
    found.
    """

    batch = 1_000
    most_characters = 8_000_000  # a server takes 32 MB
    searches_among = True

    def __init__(self, engine: QdrantEngine, id_: str, name: str, notes: Notes, *, searched: bool) -> None:
        self.id, self.name, self.notes = id_, name, notes
        self._engine = engine
        self._searched = searched
        self.collection = f"leafspan_{id_}"
        self._is_made = False

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        from qdrant_client import models

        if not (yield from self._exists()):
            return [[] for _ in vectors]
        count = min(count, MOST_RESULTS)
        where = among and models.Filter(must=[models.HasIdCondition(has_id=list(map(point_id, among)))])
        options: dict[str, Any] = {"limit": count, "filter": where or None, **self._options(fields, "vector")}
        if not self._engine.in_process:
            options["params"] = models.SearchParams(hnsw_ef=max(_LEAST_LOOKED_AT, 2 * count), exact=among is not None)
        matrix = np.asarray(vectors, np.float32).tolist()
        requests = [models.QueryRequest(query=vector, using="vector", **options) for vector in matrix]
        read = partial(_rows, vectors=vectors, fields=fields)
        return (yield from self._call("search", "query_batch_points", read=read, requests=requests))  # type: ignore[no-any-return]

    def annotate(self, notes: Notes) -> Flow[None]:
        content = {"notes": json.dumps(dict(notes), ensure_ascii=False)}
        where: dict[str, Any] = {"collection_name": _REGISTRY, "points": [point_id(self.name)]}
        yield self._engine.call(f"annotate {self.name!r}", "set_payload", finish=True, payload=content, **where)

    def _get(self, ids: Sequence[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        if not (yield from self._exists()):
            return {}
        read = partial(_by_id, ids=ids, fields=fields)
        points = list(map(point_id, ids))
        return (yield from self._call("get", "retrieve", read=read, ids=points, **self._options(fields)))  # type: ignore[no-any-return]

    def _find(self, key: str, values: Sequence[str]) -> Flow[Collection[str]]:
        from qdrant_client import models

        condition = models.FieldCondition(key="marks", match=models.MatchAny(any=[mark(key, each) for each in values]))
        return (yield from self.scan((), models.Filter(must=[condition])))

    def _put(self, records: Sequence[Record], new: bool) -> Flow[None]:
        from qdrant_client import models

        yield from self._make(records)
        points = [
            models.PointStruct(id=point_id(each.id), vector=_vector(each), payload=_payload(each)) for each in records
        ]
        yield from self._call("put", "upsert", finish=True, points=points, wait=True)

    def _delete(self, ids: Sequence[str]) -> Flow[None]:
        from qdrant_client import models

        if (yield from self._exists()):
            points = models.PointIdsList(points=list(map(point_id, ids)))
            yield from self._call("delete", "delete", finish=True, points_selector=points, wait=True)

    def scan(self, fields: Collection[Field], where: Any = None) -> Flow[dict[str, Record]]:
        if not (yield from self._exists()):
            return {}
        doing, read = f"read records of {self.name!r}", partial(_by_id, ids=None, fields=fields)
        options = {"scroll_filter": where, **self._options(fields)}
        return (yield from self._engine.scroll(doing, self.collection, read, **options))

    def _options(self, fields: Collection[Field], vectors: str = "vectors") -> dict[str, Any]:
        """Return the options that select which parts of a point are read."""
        return {
            "with_payload": ["id", *(each for each in fields if each != "vector")],
            f"with_{vectors}": self._searched and "vector" in fields,
        }

    def _exists(self) -> Flow[bool]:
        if not self._is_made:
            self._is_made = yield from self._engine.exists(self.collection)
        return self._is_made

    def _make(self, records: Sequence[Record]) -> Flow[None]:
        """Make the collection if it is missing. The first vectors fix the length of all."""
        if not self._is_made:
            sizes = [len(each.vector) for each in records if each.vector is not None] if self._searched else []
            yield from self._engine.make(self.collection, sizes[0] if sizes else None)
            self._is_made = True

    def _call(self, doing: str, method: str, *, finish: bool = False, **options: Any) -> Flow[Any]:
        doing, options = f"{doing} records of {self.name!r}", {"collection_name": self.collection, **options}
        return (yield self._engine.call(doing, method, finish=finish, **options))


def _payload(record: Record) -> dict[str, Any]:
    payload: dict[str, Any] = {"id": record.id}
    if record.text is not None:
        payload["text"] = record.text
    if record.metadata is not None:
        payload["metadata"] = json.dumps(dict(record.metadata), ensure_ascii=False, separators=(",", ":"))
        payload["marks"] = marks_of(record.metadata)
    return payload


def _vector(record: Record) -> dict[str, Any]:
    return {} if record.vector is None else {"vector": np.asarray(record.vector, np.float32).tolist()}


def _by_id(points: Sequence[Any], ids: Collection[str] | None, fields: Collection[Field]) -> dict[str, Record]:
    return checked((_record(each, fields) for each in points), ids)


def _rows(answers: Sequence[Any], vectors: Any, fields: Collection[Field]) -> list[list[Near]]:
    rows = [[Near(_record(each, fields), each.score) for each in answer.points] for answer in answers]
    return checked_rows(rows, vectors)


def _record(point: Any, fields: Collection[Field]) -> Record:
    row = point.payload
    metadata = json.loads(row["metadata"]) if "metadata" in fields and row.get("metadata") is not None else None
    vector = (point.vector or {}).get("vector") if "vector" in fields else None
    return Record(row["id"], row.get("text") if "text" in fields else None, metadata, vector)
