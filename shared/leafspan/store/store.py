"""An index's collections in Chroma, opened: who may read, and who may write."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from leafspan.embedding import EmbedderIdentity
from leafspan.engine import Call, Flow
from leafspan.errors import IndexMismatch, LeafspanError, WriterBusy
from leafspan.store.collection import Collection
from leafspan.store.folder import Folder
from leafspan.store.manifest import Row, unpack_rows
from leafspan.store.reading import Reader
from leafspan.store.writing import Writer


class Store(Protocol):
    """What an index needs of its store."""

    batch: int
    settings: Mapping[str, Any]

    @property
    def interrupted(self) -> bool:
        """True where a writer may have been killed, or is at work."""
        ...

    def reader(self, stale: set[tuple[str, str]]) -> Flow[Reader]:
        """A reader that sees everything written so far."""
        ...

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """The one writer, its lock held, for these documents or for all.

        Raises:
            WriterBusy: if another one does not finish within ``timeout`` seconds.
        """
        ...

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """The identity of the embedder that the index was made with, None before the first embedding."""
        ...

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """Remember the embedder; only while writing."""
        ...

    @property
    def client(self) -> Any:
        """The Chroma client in use."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class FolderStore:
    """An index in a folder: the manifest is held in memory and kept current by the folder's change counter."""

    def __init__(self, folder: Folder, name: str, settings: Mapping[str, Any]) -> None:
        self._folder: Folder | None = folder
        self._leaves_name = leaves_name(name)
        self._manifest_name = manifest_name(name)
        self._rows: tuple[int, dict[str, Row]] = (-1, {})
        self.settings = settings
        self.batch = folder.opened().batch

    @property
    def interrupted(self) -> bool:
        """See Store."""
        return self._open_folder().changes.writing

    def reader(self, stale: set[tuple[str, str]]) -> Flow[Reader]:
        """See Store."""
        folder = self._open_folder()
        count = folder.changes.count  # first: what is opened and read after it can only be newer
        opened = folder.reader()
        if opened is None:
            opened = yield Call(folder.reopened_reader)
        try:
            for name in (self._leaves_name, self._manifest_name):
                if name not in opened.collections:
                    yield Call(opened.collection, (name,))
            manifest = opened.collections[self._manifest_name]
            known = self._rows  # others may put theirs in its place at any time
            if known[0] != count:
                records = yield from manifest.scan(["metadatas"])
                self._rows = known = (count, unpack_rows(records))
            return Reader(
                opened.collections[self._leaves_name],
                manifest,
                rows=known[1],
                has_changed=lambda: folder.changes.count != count,
                leave=opened.leave,
                stale=stale,
            )
        except BaseException:
            opened.leave()
            raise

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """See Store."""
        folder = self._open_folder()
        lock = folder.writer_lock()
        try:
            yield Call(folder.start_writing, (lock, timeout), finish=True)
            reader = yield from self.reader(set())
            reader.leave()
            rows = dict((yield from reader.rows()))
        except BaseException:
            folder.stop_writing(lock)
            raise

        def advance() -> None:
            # A new mapping each time: readers go on with the one they hold.
            self._rows = (folder.advance(), dict(rows))

        opened = folder.opened()
        return Writer(
            opened.collection(self._leaves_name),
            opened.collection(self._manifest_name),
            rows=rows,
            advance=advance,
            stop=lambda whole: folder.stop_writing(lock, whole=whole),
        )

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """See Store."""
        folder = self._open_folder()
        opened = folder.reader() or (yield Call(folder.reopened_reader))
        try:
            handle = yield Call(opened.client.get_collection, (self._manifest_name,), {"embedding_function": None})
            return read_embedder(handle.metadata)
        finally:
            opened.leave()

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """See Store."""
        manifest = self._open_folder().opened().collection(self._manifest_name)
        yield from manifest.modify(settings_with(self.settings, identity))

    @property
    def client(self) -> Any:
        """See Store."""
        return self._open_folder().opened().client

    def close(self) -> None:
        """See Store."""
        self._folder = None

    def _open_folder(self) -> Folder:
        if self._folder is None:
            raise LeafspanError("this index is closed; open it again")
        return self._folder


class ClientStore:
    """An index behind any other client (a server, Chroma Cloud, or in memory): the manifest is asked at each reading.

    Writers of other processes are not locked out, so a writer only touches its own documents: each is replaced as a
    whole, and what a killed writer has left lying about is never shown, and swept up by the next ``add`` of the document
    or by ``Index.doctor``. Two processes must not write the same document at the same time.
    """

    def __init__(self, client: Any, name: str, settings: Mapping[str, Any], connection: Connection) -> None:
        self.client = client
        self.settings = settings
        self.batch = connection.batch
        self._connection = connection
        self._leaves = connection.leaves
        self._manifest = connection.manifest
        self._manifest_name = manifest_name(name)
        self._mutex = threading.Lock()

    @property
    def interrupted(self) -> bool:
        """See Store: other processes cannot be told of it."""
        return False

    def reader(self, stale: set[tuple[str, str]]) -> Flow[Reader]:
        """See Store."""
        yield from ()  # a flow like the others, though it has nothing to ask
        return Reader(self._leaves, self._manifest, rows=None, has_changed=lambda: True, leave=lambda: None, stale=stale)

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """See Store."""
        turn = _Turn(self._mutex)
        try:
            yield Call(turn.take, (timeout,), finish=True)
            reader = yield from self.reader(set())
            rows = dict((yield from reader.rows(ids)))
        except BaseException:
            turn.give_back()
            raise
        return Writer(self._leaves, self._manifest, rows=rows, advance=lambda: None, stop=lambda _: turn.give_back())

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """See Store."""
        handle = yield self._connection.call("get_collection", self._manifest_name, embedding_function=None)
        return read_embedder(handle.metadata)

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """See Store."""
        yield from self._manifest.modify(settings_with(self.settings, identity))

    def close(self) -> None:
        """See Store."""


class Connection:
    """A client's two collections, and how to call the client: directly, or as coroutines where it is asynchronous."""

    def __init__(self, client: Any, *, native: bool, batch: int, leaves: Any = None, manifest: Any = None) -> None:
        self._client = client
        self._native = native
        self.batch = batch
        self.leaves = Collection(leaves, batch, native=native)
        self.manifest = Collection(manifest, batch, native=native)

    def call(self, method: str, *arguments: Any, **options: Any) -> Call:
        """The call of a method of the client."""
        return client_call(self._client, method, arguments, options, native=self._native)


def client_call(client: Any, method: str, arguments: tuple[Any, ...], options: dict[str, Any], *, native: bool) -> Call:
    """The call of a method of a client, which is a coroutine function where the client is asynchronous."""
    function = getattr(client, method)
    return Call(None if native else function, arguments, options, native=function if native else None)


class _Turn:
    """One writer's turn at a lock, given back at most once, and only if it was taken."""

    def __init__(self, mutex: threading.Lock) -> None:
        self._mutex = mutex
        self._taken = False

    def take(self, timeout: float) -> None:
        self._taken = self._mutex.acquire(timeout=timeout)
        if not self._taken:
            raise WriterBusy(f"another thread has been writing for more than the timeout of {timeout:g} seconds")

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._mutex.release()


def leaves_name(name: str) -> str:
    """The Chroma collection of an index's leaves."""
    return f"{name}.leaves"


def manifest_name(name: str) -> str:
    """The Chroma collection of an index's manifest."""
    return f"{name}.manifest"


def settings_with(settings: Mapping[str, Any], identity: EmbedderIdentity | None) -> dict[str, str]:
    """What the manifest's collection carries as its own metadata."""
    stored = {"leafspan": json.dumps(dict(settings))}
    if identity is not None:
        stored["embedder"] = json.dumps({"name": identity.name, "dimension": identity.dimension, "probe": identity.probe})
    return stored


def read_settings(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings from the collection's metadata.

    Raises:
        IndexMismatch: if the collection is somebody else's.
    """
    if not metadata or "leafspan" not in metadata:
        raise IndexMismatch("the manifest's collection was not made by leafspan; choose another name for the index")
    return dict(json.loads(metadata["leafspan"]))


def read_embedder(metadata: Mapping[str, Any]) -> EmbedderIdentity | None:
    """The embedder from the collection's metadata; None before the first embedding."""
    return EmbedderIdentity(**json.loads(metadata["embedder"])) if "embedder" in metadata else None
