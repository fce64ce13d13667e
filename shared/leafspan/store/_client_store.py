"""An index behind a server, or in memory."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspan.embedding import EmbedderIdentity
from leafspan.engine import Call, Flow
from leafspan.store._catalogue import Catalogue, Visibility
from leafspan.store._collection import Collection
from leafspan.store._manifest import CHANGES_ID, token_columns, unpack_rows, unpack_token
from leafspan.store._naming import manifest_name, read_embedder, settings_with, texts_name
from leafspan.store._reader import Reader
from leafspan.store._texts import CollectionLease, Texts
from leafspan.store._waiting import wait_for_turn
from leafspan.store._writer import Writer

_WRITING = "writing:"  # how a token begins while there is more to come


class ClientStore:
    """An index behind any other client (a server, Chroma Cloud, or in memory): the manifest is asked at each reading.

    Writers of other processes are not locked out, so a writer only touches its own documents: each is replaced as a
    whole, and what a killed writer has left lying about is never shown, and swept up by the next ``add`` of the document
    or by ``Index.doctor``. Two processes must not write the same document at the same time.
    """

    def __init__(
        self, client: Any, name: str, settings: Mapping[str, Any], connection: Connection, cache_folder: Path | None
    ) -> None:
        self.client = client
        self.cache_folder = cache_folder
        self.settings = settings
        self.batch = connection.leaves.batch
        self._connection = connection
        self._leaves = connection.leaves
        self._manifest = connection.manifest
        self._manifest_name = manifest_name(name)
        self._texts_name = texts_name(name)
        self._texts: Collection | None = None
        self._mutex = threading.Lock()
        self._catalogue: tuple[str | None, Catalogue] = (None, Catalogue({}))

    embedded = False

    @property
    def interrupted(self) -> bool:
        """See Store: other processes cannot be told of it."""
        return False

    def reader(self, stale: set[tuple[str, str]], *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        """See Store."""
        yield from ()  # a flow like the others, though it has nothing to ask
        if again:
            self._catalogue = (None, Catalogue({}))
        return Reader(
            self._leaves,
            self._manifest,
            known=None,
            load=self._load,
            has_changed=lambda: True,
            stay=lambda: None,
            leave=lambda: None,
            stale=stale,
            scope=scope,
        )

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """See Store."""
        turn = _Turn(self._mutex)
        try:
            yield from wait_for_turn(turn.take, timeout, f"{self._manifest_name!r}")
            reader = yield from self.reader(set())
            rows = dict((yield from reader.rows(ids)))
        except BaseException:
            turn.give_back()
            raise
        return Writer(self._leaves, self._manifest, rows=rows, advance=self._advance, stop=lambda _: turn.give_back())

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """See Store."""
        handle = yield self._connection.call("get_collection", self._manifest_name, embedding_function=None)
        return read_embedder(handle.metadata)

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """See Store."""
        yield from self._manifest.modify(settings_with(self.settings, identity))

    def close(self) -> None:
        """See Store."""

    def texts(self, timeout: float) -> Texts:
        """See Store; there is nobody to wait for."""

        def lend(write: bool) -> Flow[CollectionLease | None]:
            from chromadb.errors import NotFoundError

            if self._texts is None:
                method = "get_or_create_collection" if write else "get_collection"
                try:
                    handle = yield self._connection.call(method, self._texts_name, embedding_function=None)
                except NotFoundError:
                    return None
                self._texts = self._connection.collection(handle)
            return CollectionLease(self._texts, lambda: None)

        return Texts(lend)

    def _load(self) -> Flow[Catalogue]:
        """The catalogue, read anew where the token has changed, or while a writer is at work or was killed at it."""
        token = unpack_token((yield from self._manifest.get([CHANGES_ID], ["metadatas"])))
        known = self._catalogue
        if token is None or token.startswith(_WRITING) or known[0] != token:
            known = (token, Catalogue(unpack_rows((yield from self._manifest.scan(["metadatas"])))))
            self._catalogue = known
        return known[1]

    def _advance(self, *, settled: bool) -> Flow[None]:
        """Give the manifest a token that it never had."""
        token = ("" if settled else _WRITING) + uuid.uuid4().hex
        yield from self._manifest.upsert([CHANGES_ID], **token_columns(token))


class Connection:
    """A client's two collections, and how to call the client: directly, or as coroutines where it is asynchronous."""

    def __init__(self, client: Any, *, native: bool, batch: int, leaves: Any, manifest: Any) -> None:
        self._client = client
        self._native = native
        self._batch = batch
        self.leaves = self.collection(leaves)
        self.manifest = self.collection(manifest)

    def collection(self, handle: Any) -> Collection:
        """A collection of the client, by its handle."""
        return Collection(handle, self._batch, native=self._native)

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

    def take(self) -> bool:
        self._taken = self._mutex.acquire(blocking=False)
        return self._taken

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._mutex.release()
