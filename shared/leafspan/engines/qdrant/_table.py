"""A table of an index as a collection of Qdrant."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol
from uuid import NAMESPACE_URL, uuid5

from leafspan.engines._marks import mark, marks_of
from leafspan.engines._port import MOST_RESULTS, Field, Near, Notes, Record
from leafspan.engines._tables import STEP, checked, checked_rows, in_batches
from leafspan.flows import Call, Flow

_PAGE = 1_000  # records of a page
_CHARACTERS = 8_000_000  # of one write; a server takes 32 MB
_LEAST_LOOKED_AT = 200  # candidates of a search in the graph


def point_id(id_: str) -> str:
    """Return the point id of a record: Qdrant accepts only UUIDs and numbers."""
    return str(uuid5(NAMESPACE_URL, f"leafspan:{id_}"))


class Collections(Protocol):
    """The engine's methods that a table uses.

    Attributes:
        batch: Most records of one request.
        in_process: Whether Qdrant runs in this process, where it compares all vectors.
    """

    batch: int
    in_process: bool

    def call(
        self, doing: str, method: str, *, finish: bool = False, read: Callable[[Any], Any] | None = None, **options: Any
    ) -> Call:
        """Return the call of one of the client's methods. ``read`` makes the result from its answer."""
        ...

    def exists(self, collection: str) -> Flow[bool]:
        """Whether a collection exists."""
        ...

    def made(self, collection: str, numbers: int | None) -> Flow[None]:
        """Make a missing collection."""
        ...

    def annotate(self, name: str, notes: Notes) -> Flow[None]:
        """Replace the notes of a table."""
        ...


class QdrantTable:
    """A Qdrant collection: see ``FlowTable``. A record is a point, whose payload has its id, text and metadata.

    The payload stores metadata as JSON, to keep types. It also stores strings in metadata as marks, by which they are
    found.
    """

    step = STEP
    searches_among = True

    def __init__(self, engine: Collections, id_: str, name: str, notes: Notes, *, searched: bool) -> None:
        self.id = id_
        self.name = name
        self.notes = notes
        self._engine = engine
        self._searched = searched
        self._collection = f"leafspan_{id_}"
        self._is_made = False

    def get(self, ids: Collection[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """See FlowTable."""
        found: dict[str, Record] = {}
        if ids and (yield from self._is_there()):
            for some in in_batches(list(dict.fromkeys(ids)), _PAGE):
                how = {"ids": list(map(point_id, some)), **self._wanted(fields)}
                read = partial(_by_id, ids=some, fields=fields)
                found.update((yield from self._call("get", "retrieve", read=read, **how)))
        return found

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """See FlowTable."""
        return (yield from self._scroll(fields))

    def find(self, key: str, values: Collection[str]) -> Flow[set[str]]:
        """See FlowTable."""
        from qdrant_client import models

        found: set[str] = set()
        for some in in_batches([mark(key, each) for each in values], _PAGE):
            condition = models.FieldCondition(key="marks", match=models.MatchAny(any=list(some)))
            found.update((yield from self._scroll((), models.Filter(must=[condition]))))
        return found

    def put(self, records: Sequence[Record], *, new: bool = False) -> Flow[None]:
        """See FlowTable."""
        from qdrant_client import models

        if not records:
            return
        yield from self._ready(records)
        for some in _portions(records, self._engine.batch):
            points = [
                models.PointStruct(id=point_id(each.id), vector=_vector(each), payload=_payload(each)) for each in some
            ]
            yield from self._call("put", "upsert", finish=True, points=points, wait=True)

    def put_vectors(self, vectors: Mapping[str, Any]) -> Flow[None]:
        """See FlowTable."""
        from qdrant_client import models

        for some in in_batches(list(vectors), self._engine.batch):
            points = [
                models.PointVectors(id=point_id(id_), vector=_vector(Record(id_, vector=vectors[id_]))) for id_ in some
            ]
            yield from self._call("put", "update_vectors", finish=True, points=points, wait=True)

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        """See FlowTable."""
        from qdrant_client import models

        if ids and (yield from self._is_there()):
            for some in in_batches(ids, self._engine.batch):
                chosen = models.PointIdsList(points=list(map(point_id, some)))
                yield from self._call("delete", "delete", finish=True, points_selector=chosen, wait=True)

    def nearest(
        self, vectors: Any, count: int, fields: Collection[Field] = (), *, among: Collection[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """See FlowTable."""
        import numpy as np
        from qdrant_client import models

        if not (yield from self._is_there()):
            return [[] for _ in vectors]
        count = min(count, MOST_RESULTS)
        chosen = among and models.Filter(must=[models.HasIdCondition(has_id=list(map(point_id, among)))])
        how: dict[str, Any] = {"limit": count, "filter": chosen or None, **self._wanted(fields, "vector")}
        if not self._engine.in_process:
            how["params"] = models.SearchParams(hnsw_ef=max(_LEAST_LOOKED_AT, 2 * count), exact=among is not None)
        requests = [
            models.QueryRequest(query=vector, using="vector", **how) for vector in np.asarray(vectors, np.float32).tolist()
        ]
        read = partial(_rows, vectors=vectors, fields=fields)
        return (yield from self._call("search", "query_batch_points", read=read, requests=requests))  # type: ignore[no-any-return]

    def annotate(self, notes: Notes) -> Flow[None]:
        """See FlowTable."""
        yield from self._engine.annotate(self.name, notes)

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See FlowTable."""
        return {id_ for id_, record in (yield from self.get(ids, ["vector"])).items() if record.vector is None}

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See FlowTable. Qdrant compares all points that its graph does not have yet."""
        yield from ()
        return set()

    def _scroll(self, fields: Collection[Field], where: Any = None) -> Flow[dict[str, Record]]:
        found: dict[str, Record] = {}
        if not (yield from self._is_there()):
            return found
        start: Any = None
        while True:
            how = {"scroll_filter": where, "limit": _PAGE, "offset": start, **self._wanted(fields)}
            some, start = yield from self._call("read", "scroll", read=partial(_page, fields=fields), **how)
            found.update(some)
            if start is None:
                return found

    def _wanted(self, fields: Collection[Field], vectors: str = "vectors") -> dict[str, Any]:
        """Return the options that select which parts of a point are read."""
        return {
            "with_payload": ["id", *(each for each in fields if each != "vector")],
            f"with_{vectors}": self._searched and "vector" in fields,
        }

    def _is_there(self) -> Flow[bool]:
        """Whether the collection exists."""
        if not self._is_made:
            self._is_made = yield from self._engine.exists(self._collection)
        return self._is_made

    def _ready(self, records: Sequence[Record]) -> Flow[None]:
        """Make the collection if it is missing. The first vectors fix the length of all."""
        if not self._is_made:
            sizes = [len(each.vector) for each in records if each.vector is not None] if self._searched else []
            yield from self._engine.made(self._collection, sizes[0] if sizes else None)
            self._is_made = True

    def _call(self, doing: str, method: str, *, finish: bool = False, **options: Any) -> Flow[Any]:
        return (
            yield self._engine.call(
                f"{doing} records of {self.name!r}", method, finish=finish, collection_name=self._collection, **options
            )
        )


def _portions(records: Sequence[Record], most: int) -> Iterator[list[Record]]:
    """Return the records in portions that fit into one request."""
    portion: list[Record] = []
    characters = 0
    for each in records:
        size = len(each.text or "") + sum(len(key) + len(str(value)) for key, value in (each.metadata or {}).items())
        if portion and (len(portion) == most or characters + size > _CHARACTERS):
            yield portion
            portion, characters = [], 0
        portion.append(each)
        characters += size
    yield portion


def _payload(record: Record) -> dict[str, Any]:
    payload: dict[str, Any] = {"id": record.id}
    if record.text is not None:
        payload["text"] = record.text
    if record.metadata is not None:
        payload["metadata"] = json.dumps(dict(record.metadata), ensure_ascii=False, separators=(",", ":"))
        payload["marks"] = marks_of(record.metadata)
    return payload


def _vector(record: Record) -> dict[str, Any]:
    import numpy as np

    return {} if record.vector is None else {"vector": np.asarray(record.vector, np.float32).tolist()}


def _by_id(points: Sequence[Any], ids: Collection[str] | None, fields: Collection[Field]) -> dict[str, Record]:
    return checked((_record(each, fields) for each in points), ids)


def _page(answer: Any, fields: Collection[Field]) -> tuple[dict[str, Record], Any]:
    points, start = answer
    return _by_id(points, None, fields), start


def _rows(answers: Sequence[Any], vectors: Any, fields: Collection[Field]) -> list[list[Near]]:
    return checked_rows(
        [[Near(_record(each, fields), each.score) for each in answer.points] for answer in answers], vectors
    )


def _record(point: Any, fields: Collection[Field]) -> Record:
    """Return the record of a point, with these fields."""
    row = point.payload
    metadata = json.loads(row["metadata"]) if "metadata" in fields and row.get("metadata") is not None else None
    vector = (point.vector or {}).get("vector") if "vector" in fields else None
    return Record(row["id"], row.get("text") if "text" in fields else None, metadata, vector)
