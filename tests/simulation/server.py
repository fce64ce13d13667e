"""A Chroma server in memory, and its clients: one for each process, blocking or asynchronous."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from itertools import count
from types import SimpleNamespace
from typing import Any

import httpx
from chromadb.api.async_api import AsyncClientAPI
from chromadb.errors import InternalError, NotFoundError

from tests.simulation.records import LINKS, Records, are_refused
from tests.simulation.world import READS, WRITES, LateWrite, World

Watch = Callable[[str, str, Mapping[str, Any]], None]
"""Function to call after each write: with the collection's name, the method and its options."""


class Collection:
    """A collection of the server."""

    def __init__(self, name: str, number: int, metadata: Mapping[str, Any] | None) -> None:
        self.name = name
        self.id = uuid.UUID(int=number)
        self.metadata = None if metadata is None else dict(metadata)
        self.records = Records()
        self.refuses = False  # whether its log has a record that its tables refuse


class Server:
    """The server. It outlives its clients.

    Args:
        world: The world.
        batch: Most records of one write.
        watch: What looks at each write.

    Attributes:
        before: Function to call before each request.
    """

    def __init__(self, world: World, batch: int, watch: Watch) -> None:
        self.world = world
        self.numbers = count(1)  # of collections
        self.batch = batch
        self.watch = watch
        self.before: Callable[[], None] = lambda: None
        self.collections: dict[str, Collection] = {}

    def make(self, name: str, metadata: Mapping[str, Any] | None) -> Collection:
        """The collection with this name, made if it does not exist."""
        if name not in self.collections:
            self.collections[name] = Collection(name, next(self.numbers), metadata)
        return self.collections[name]

    def call(self, what: str, effect: Callable[[], Any], *, writes: bool = False) -> Any:
        """A request: its effect may fail to come about, come about unknown to the client, or come about later."""
        world = self.world
        place = WRITES if writes else READS
        world.point(f"before {what}", place)
        self.before()
        action, number = world.action(place)
        if action == "fail":
            world.counts["failures"] += 1
            world.note(f"fails: {what}")
            raise failure()
        if action == "lose" or (action == "late" and not writes):
            world.counts["lost answers"] += 1
            world.note(f"answer is lost: {what}")
            world.tick()
            effect()
            raise failure()
        if action == "late":
            world.note(f"will be late: {what}")
            world.late.append(LateWrite(what, world.current.operation if world.current else 0, effect))
            world.sleep(1.0)
            raise failure()
        world.tick()
        answer = effect()
        world.note(what)
        if action:
            world.happen(action, number, f"after {what}")
        return answer


def failure() -> Exception:
    """A failure of a request, whose effect is not known."""
    error = httpx.ReadTimeout("timed out (simulated)")
    error.simulated = True  # type: ignore[attr-defined]
    return error


class Handle:
    """A client's handle of a collection."""

    def __init__(self, server: Server, collection: Collection) -> None:
        self._server = server
        self._collection = collection
        self.name = collection.name
        self.id = collection.id
        self.metadata = collection.metadata
        self.configuration_json = {"hnsw": {"space": "cosine"}}

    def get(
        self, ids: Any = None, where: Any = None, limit: int | None = None, include: Any = ("documents", "metadatas")
    ) -> dict[str, Any]:
        records = self._collection.records

        def vector_of(id_: str) -> Any:
            return records.by_id[id_].vector

        what = f"get {self.name} {'' if ids is None else ' '.join(ids)}"
        return dict(self._server.call(what, lambda: records.get(ids, where, limit, include, vector_of)))

    def query(self, query_embeddings: Any, n_results: int, include: Any) -> dict[str, Any]:
        records = self._collection.records

        def find() -> dict[str, Any]:
            vectors = {id_: record.vector for id_, record in records.by_id.items()}
            return records.query(query_embeddings, n_results, include, vectors, links=LINKS)

        return dict(self._server.call(f"query {self.name} {n_results}", find))

    def add(self, **options: Any) -> None:
        self._write("add", options)

    def upsert(self, **options: Any) -> None:
        self._write("upsert", options)

    def delete(self, **options: Any) -> None:
        self._write("delete", options)

    def modify(self, metadata: Mapping[str, Any]) -> None:
        def change() -> None:
            self._collection.metadata = dict(metadata)

        self._server.call(f"modify {self.name}", change, writes=True)

    def count(self) -> int:
        return int(self._server.call(f"count {self.name}", lambda: len(self._collection.records.by_id)))

    def _write(self, method: str, options: dict[str, Any]) -> None:
        def write() -> None:
            self._collection.refuses |= are_refused(options)
            if self._collection.refuses:
                raise InternalError("Error in compaction: Failed to apply logs to the metadata segment")
            ids = list(options["ids"])
            getattr(self._collection.records, method)(ids, options)
            self._server.watch(self.name, method, options)

        self._server.call(f"{method} {self.name} {' '.join(options['ids'])}", write, writes=True)


class Client:
    """A blocking client, as ``chromadb.HttpClient`` makes."""

    tenant = "default_tenant"
    database = "default_database"

    def __init__(self, server: Server) -> None:
        self._server = server

    def get_settings(self) -> Any:
        return SimpleNamespace(is_persistent=False, chroma_api_impl="chromadb.api.fastapi.FastAPI")

    def get_max_batch_size(self) -> int:
        return self._server.batch

    def get_collection(self, name: str, embedding_function: Any = None) -> Any:
        def find() -> Any:
            if name not in self._server.collections:
                raise NotFoundError(f"Collection [{name}] does not exist")
            return self._handle(self._server.collections[name])

        return self._server.call(f"get_collection {name}", find)

    def get_or_create_collection(
        self, name: str, embedding_function: Any = None, configuration: Any = None, metadata: Any = None
    ) -> Any:
        def make() -> Any:
            return self._handle(self._server.make(name, metadata))

        return self._server.call(f"get_or_create_collection {name}", make)

    def delete_collection(self, name: str) -> None:
        self._server.call(f"delete_collection {name}", lambda: self._server.collections.pop(name), writes=True)

    def list_collections(self) -> list[Any]:
        every = self._server.call("list_collections", lambda: list(self._server.collections.values()))
        return [self._handle(each) for each in every]

    def _handle(self, collection: Collection) -> Any:
        return Handle(self._server, collection)


def _coroutine_function(name: str) -> Any:
    async def call(self: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(self.blocking, name)(*arguments, **options)

    call.__name__ = name
    return call


class AsyncHandle:
    """Like ``Handle``, with coroutine functions."""

    def __init__(self, blocking: Handle) -> None:
        self.blocking = blocking
        self.name, self.id, self.metadata = blocking.name, blocking.id, blocking.metadata
        self.configuration_json = blocking.configuration_json

    get, query, add, upsert, delete, modify, count = map(
        _coroutine_function, ("get", "query", "add", "upsert", "delete", "modify", "count")
    )


class _AsyncHandles(Client):
    def _handle(self, collection: Collection) -> Any:
        return AsyncHandle(Handle(self._server, collection))


class AsyncClient:
    """An asynchronous client, as ``chromadb.AsyncHttpClient`` makes."""

    tenant = "default_tenant"
    database = "default_database"

    def __init__(self, server: Server) -> None:
        self.blocking = _AsyncHandles(server)

    get_max_batch_size, get_collection, get_or_create_collection, list_collections = map(
        _coroutine_function, ("get_max_batch_size", "get_collection", "get_or_create_collection", "list_collections")
    )


AsyncClientAPI.register(AsyncClient)
