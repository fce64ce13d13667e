"""An embedded Chroma in a folder: shared by the threads of a process, and reopened after another process has written."""

from __future__ import annotations

import itertools
import threading
import weakref
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from leafspan.store._catalogue import Catalogue
from leafspan.store._change_file import ChangeFile
from leafspan.store._collection import Collection
from leafspan.store._files import Files

_SPELLINGS = 64
_openings = itertools.count()
_folders: weakref.WeakValueDictionary[tuple[Path, str, str], Folder] = weakref.WeakValueDictionary()
_folders_mutex = threading.Lock()


class Opened:
    """An open Chroma client with its collections. It is closed when it is retired and its last reader has left.

    Args:
        client: The Chroma client.
        files: Lock on Chroma's files.
        owned: Whether to close the client. A client that the user gave is closed by the user.
    """

    def __init__(self, client: Any, files: Files, *, owned: bool) -> None:
        self.client = client
        self.batch = int(client.get_max_batch_size())
        self.collections: dict[str, Collection] = {}
        self._files = files
        self._loading = threading.Lock()
        self._readers = 0
        self._retired = False
        self._mutex = threading.Lock()
        self._close = weakref.finalize(self, client.close) if owned else None

    def collection(self, name: str) -> Collection:
        """The collection with this name. Loading it takes a while, if it is not in ``collections`` yet.

        Raises:
            chromadb.errors.NotFoundError: if there is no such collection.
        """
        with self._loading:
            if name not in self.collections:
                with self._files.locked():
                    handle = self.client.get_collection(name, embedding_function=None)
                    handle.get(limit=1, include=[])  # Chroma loads the vectors at the first use
                self.collections[name] = Collection(handle, self.batch, native=False, files=self._files)
            return self.collections[name]

    def enter(self) -> None:
        """Count one more reader."""
        with self._mutex:
            self._readers += 1

    def leave(self) -> None:
        """Count one reader less, and close the client if it was the last one of a retired client."""
        with self._mutex:
            self._readers -= 1
            unused = self._retired and self._readers == 0
        if unused and self._close:
            self._close()

    def retire(self) -> None:
        """Close the client as soon as it has no readers: a newer one has replaced it."""
        with self._mutex:
            self._retired = True
            unused = self._readers == 0
        if unused and self._close:
            self._close()


class Folder:
    """The embedded Chroma in a folder. ``folder_at`` gives the only instance in this process.

    An embedded Chroma never sees vectors that another process adds. So the change counter is compared before each use, and
    Chroma is opened again if another process has changed it.

    Args:
        path: The folder. It is made if there is none.
        tenant: Tenant of Chroma.
        database: Database of Chroma.
        client: Client that the user gave. None to open one.

    Attributes:
        catalogues: The catalogue of each manifest, by its name, with the count of changes that it belongs to. All indexes
            of this process share them.
    """

    def __init__(self, path: Path, tenant: str, database: str, client: Any) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._database = {"tenant": tenant, "database": database}
        self.changes = ChangeFile(path / "leafspan.changes")
        self.catalogues: dict[str, tuple[int, Catalogue]] = {}
        self._files = Files(path, self.changes)
        self._mutex = threading.Lock()
        self._synced = self.changes.count
        self._opened = Opened(client, self._files, owned=False) if client else self._open()

    def reader(self) -> Opened | None:
        """The open client, entered by one more reader; None if it is out of date or is being reopened."""
        if not self._mutex.acquire(blocking=False):
            return None
        try:
            if self._synced != self.changes.count:
                return None
            self._opened.enter()
            return self._opened
        finally:
            self._mutex.release()

    def reopened_reader(self) -> Opened:
        """The open client, entered by one more reader, and reopened first if it is out of date. That may take a while."""
        with self._mutex:
            self._reopen_if_changed()
            self._opened.enter()
            return self._opened

    def opened(self) -> Opened:
        """The open client, not entered. Only a process that holds the writer's lock can be sure that it is not replaced."""
        with self._mutex:
            return self._opened

    def writer_lock(self) -> FileLock:
        """A new writer's lock, not acquired yet. It excludes other processes, and other locks of this process."""
        return FileLock(self.path / "leafspan.lock", thread_local=False)

    def try_writing(self, lock: FileLock) -> bool:
        """Try to acquire the lock without waiting, and reopen Chroma if others have written. False if the lock is taken."""
        if not try_acquire(lock):
            return False
        with self._mutex:
            if self.changes.writing:
                self.changes.advance()  # a killed or failed writer may not have counted what it wrote
            self._reopen_if_changed()
            self.changes.writing = True
        return True

    def stop_writing(self, lock: FileLock, *, whole: bool = True) -> None:
        """Release the lock, if it is held.

        Args:
            lock: The lock.
            whole: False if something may be half written, or written and not counted as a change.
        """
        if lock.is_locked:
            self.changes.writing = not whole
            lock.release()

    def advance(self) -> int:
        """Count a change, so that all readers notice it, and return the new count. Only for the writer."""
        with self._mutex:
            self._synced = self.changes.advance()
            return self._synced

    def _reopen_if_changed(self) -> None:
        count = self.changes.count
        if self._synced != count:
            old, self._opened = self._opened, self._open()
            self._synced = count
            old.retire()

    def _open(self) -> Opened:
        with self._files.locked():
            client = fresh_client(self.path, **self._database)
        return Opened(client, self._files, owned=True)


def fresh_client(path: Path, **database: str) -> Any:
    """A client of the Chroma in a folder, which shares no state with other clients.

    Args:
        path: The folder.
        database: ``tenant`` and ``database`` of Chroma. Default: Chroma's own.
    """
    import chromadb
    from chromadb.config import Settings

    # In one process, Chroma shares its state among all clients with the same spelling of the path. A spelling that no other
    # client uses gives a fresh state, and leaves the others alone.
    spelling = str(path) + "/." * (1 + next(_openings) % _SPELLINGS)
    return chromadb.PersistentClient(spelling, settings=Settings(anonymized_telemetry=False), **database)


def try_acquire(lock: FileLock) -> bool:
    """Whether the lock could be acquired without waiting."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def folder_at(path: Path, client: Any = None) -> Folder:
    """The embedded Chroma in a folder, the same instance for all users in this process.

    Args:
        path: The folder.
        client: Client to use if the instance is new. Default: a new client.
    """
    tenant, database = (client.tenant, client.database) if client else (None, None)
    key = (path.resolve(), tenant or "default_tenant", database or "default_database")
    with _folders_mutex:
        folder = _folders.get(key)
        if folder is None:
            folder = _folders[key] = Folder(*key, client)
        return folder
