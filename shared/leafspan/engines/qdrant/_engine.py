"""An engine over a Qdrant client. Each table of an index is a collection, made when its first records are written.

A registry, the collection ``leafspan_tables``, has each table's name and notes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from leafspan.engines._caller import LEAST_SECONDS, Caller, failure, in_one_line, late_answer
from leafspan.engines._port import Notes
from leafspan.engines._tables import PlainEngine
from leafspan.engines.qdrant._table import QdrantTable, point_id
from leafspan.flows import Call, Flow

_REGISTRY = "leafspan_tables"
_PAGE = 1_000
_MUTEXES: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()  # Qdrant in this process is not thread-safe


class QdrantEngine(PlainEngine):
    """A Qdrant that has tables of indexes: see ``FlowEngine``."""

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
        """See FlowEngine."""
        if not (yield from self.exists(_REGISTRY)):
            return {}
        found: dict[str, Notes] = {}
        start: Any = None
        while True:
            page = {"collection_name": _REGISTRY, "limit": _PAGE, "offset": start}
            notes, start = yield self.call("list the tables", "scroll", read=_notes_by_name, **page)
            found.update(notes)
            if start is None:
                return found

    def table(self, name: str) -> Flow[QdrantTable | None]:
        """See FlowEngine."""
        if not (yield from self.exists(_REGISTRY)):
            return None
        where: dict[str, Any] = {"collection_name": _REGISTRY, "ids": [point_id(name)]}
        row = yield self.call(f"open {name!r}", "retrieve", read=_first_row, **where)
        return None if row is None else QdrantTable(self, row[0], name, row[1], searched=row[2])

    def create(self, name: str, notes: Notes, *, searched: bool) -> Flow[QdrantTable]:
        """See FlowEngine."""
        from qdrant_client import models

        yield from self.made(_REGISTRY, None)
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

    def annotate(self, name: str, notes: Notes) -> Flow[None]:
        """Replace the notes of a table."""
        content = {"notes": json.dumps(dict(notes), ensure_ascii=False)}
        where: dict[str, Any] = {"collection_name": _REGISTRY, "points": [point_id(name)]}
        yield self.call(f"annotate {name!r}", "set_payload", finish=True, payload=content, **where)

    def exists(self, collection: str) -> Flow[bool]:
        """Whether a collection exists."""
        return bool((yield self.call(f"look for {collection!r}", "collection_exists", collection_name=collection)))

    def made(self, collection: str, numbers: int | None) -> Flow[None]:
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

    def call(
        self, doing: str, method: str, *, finish: bool = False, read: Callable[[Any], Any] | None = None, **options: Any
    ) -> Call:
        """Return the call of one of the client's methods. ``read`` makes the result from its answer."""
        function = getattr(self.thing, method)
        if self.in_process and not self.caller.native:
            return self.caller.call(doing, self._alone, (function,), options, finish=finish, read=read)
        return self.caller.call(doing, function, (), options, finish=finish, read=read)

    def _alone(self, function: Callable[..., Any], /, **options: Any) -> Any:
        with self._mutex:
            return function(**options)


def _notes_by_name(answer: Any) -> tuple[dict[str, Notes], Any]:
    points, start = answer
    return {str(each.payload["name"]): dict(json.loads(each.payload["notes"])) for each in points}, start


def _first_row(points: Any) -> tuple[str, Notes, bool] | None:
    """Return the id, the notes and the searchability of a table, or None without a point."""
    if not points:
        return None
    row = points[0].payload
    return str(row["id"]), dict(json.loads(row["notes"])), bool(row["searched"])


def _translated(error: BaseException, doing: str, place: str, *, server: bool, writing: bool) -> BaseException | None:
    """See ``Translate``."""
    source = getattr(error, "source", error)
    kinds = {kind.__name__ for kind in type(source).__mro__}
    if "TimeoutException" in kinds:
        return late_answer(doing, place, in_one_line(source), writing=writing)
    return failure(error, doing, place, server=server, writing=writing)
