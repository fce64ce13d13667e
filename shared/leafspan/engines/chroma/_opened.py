"""An open Chroma client with its collections, for as long as it has readers."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from leafspan.engines.chroma._collection import Collection
from leafspan.engines.chroma._failures import CollectionGone, not_opened
from leafspan.engines.chroma._files import Files, Use
from leafspan.engines.local._file_lock import held


class Opened:
    """An open Chroma client with its collections. It is closed when it is retired and its last reader has left."""

    def __init__(self, client: Any, files: Files, *, owned: bool) -> None:
        self.client = client
        self.batch = int(client.get_max_batch_size())
        self.collections: dict[str, Collection] = {}
        self._failed = threading.Event()  # a call has failed: a later one can hang
        self._files = files
        self._loading = threading.Lock()
        self._readers = 0
        self._retired = False
        self._mutex = threading.Lock()
        self.process = os.getpid()
        self._close = weakref.finalize(self, _close, client if owned else None, self._failed, self.process)

    def collection(self, name: str, deadline: float) -> Collection:
        """Return the collection with this name. Loading takes a while if ``collections`` does not have it yet."""
        with held(self._loading, deadline, f"loading {name!r}"):
            if name not in self.collections:
                with self._files.locked(deadline, opening=True):
                    handle = self._load(name)
                if isinstance(handle, Exception):
                    try:
                        raise handle
                    finally:
                        del handle  # it refers to this frame: the cycle would keep the files open until garbage collection
                self.collections[name] = Collection(handle, self.batch)
            return self.collections[name]

    def _load(self, name: str) -> Any:
        """Load a collection and return Chroma's handle, or the error if that fails; an error leaves the files unchanged."""
        try:
            handle = self.client.get_collection(name, embedding_function=None)
            handle.get(limit=1, include=[])  # Chroma loads the vectors at first use
        except BaseException as error:
            damage = not_opened(error, name, str(self._files.path))
            if isinstance(damage, CollectionGone):
                damage.__cause__ = error
                try:
                    return damage
                finally:
                    del damage  # as above
            self._failed.set()
            if explained := self._files.explain(error, f"open {name!r}") or damage:
                raise explained from error
            raise
        return handle

    def writable(self, name: str, deadline: float, timeout: float) -> Collection:
        """Return the collection for writing. Each write waits at most ``timeout`` seconds for other processes."""
        return self.collection(name, deadline).written_by(self.use(timeout))

    def use(self, timeout: float) -> Use:
        """Return a use of Chroma's files for writing. Each write waits at most ``timeout`` seconds for other processes."""
        return Use(self._files, self._failed, timeout)

    @property
    def failed(self) -> bool:
        """Whether a call has failed. Chroma can hang at a later call then, so leafspan must replace this client."""
        return self._failed.is_set()

    def enter(self) -> None:
        """Count one more reader."""
        with self._mutex:
            self._readers += 1

    def leave(self) -> None:
        """Count one reader less, and close a retired client after its last reader."""
        with self._mutex:
            self._readers -= 1
            unused = self._retired and self._readers == 0
        if unused:
            self._close()

    def retire(self) -> None:
        """Close the client as soon as it has no readers, because a newer client has replaced it."""
        with self._mutex:
            self._retired = True
            unused = self._readers == 0
        if unused:
            self._close()


def _close(client: Any, failed: threading.Event, process: int) -> None:
    if os.getpid() != process:
        return  # a forked process must not close it
    if client is not None and failed.is_set():  # closing it may hang, too
        threading.Thread(target=client.close, name="leafspan: closing", daemon=True).start()
    elif client is not None:
        client.close()
