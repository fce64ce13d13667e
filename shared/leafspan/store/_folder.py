"""An embedded Chroma in a folder: shared by the threads of a process, and reopened when another process has written."""

from __future__ import annotations

import itertools
import threading
import weakref
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from leafspan.store._change_file import ChangeFile
from leafspan.store._collection import Collection
from leafspan.store._files import Files

_SPELLINGS = 64
_openings = itertools.count()
_folders: weakref.WeakValueDictionary[tuple[Path, str, str], Folder] = weakref.WeakValueDictionary()
_folders_mutex = threading.Lock()


class Opened:
    """A Chroma client with its collections; closed once it has been replaced and its last reader has left.

    A client that the user gave is the user's to close.
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
        """The collection of that name, loaded, which takes a while where it is not among ``collections`` yet.

        Raises chromadb's NotFoundError where there is none.
        """
        with self._loading:
            if name not in self.collections:
                with self._files.held():
                    handle = self.client.get_collection(name, embedding_function=None)
                    handle.get(limit=1, include=[])  # at its first use Chroma loads the vectors
                self.collections[name] = Collection(handle, self.batch, native=False, files=self._files)
            return self.collections[name]

    def enter(self) -> None:
        """A reader comes."""
        with self._mutex:
            self._readers += 1

    def leave(self) -> None:
        """A reader goes."""
        with self._mutex:
            self._readers -= 1
            done = self._retired and self._readers == 0
        if done and self._close:
            self._close()

    def retire(self) -> None:
        """Another has taken its place."""
        with self._mutex:
            self._retired = True
            done = self._readers == 0
        if done and self._close:
            self._close()


class Folder:
    """The one gate of this process to the Chroma in a folder; ask ``folder_at`` for it.

    An embedded Chroma never sees vectors that another process adds. So before each use the change counter is looked at,
    and where somebody else has moved it, Chroma is opened anew.
    """

    def __init__(self, path: Path, tenant: str, database: str, client: Any) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._database = {"tenant": tenant, "database": database}
        self.changes = ChangeFile(path / "leafspan.changes")
        self._files = Files(path, self.changes)
        self._mutex = threading.Lock()
        self._synced = self.changes.count
        self._opened = Opened(client, self._files, owned=False) if client else self._open()

    def reader(self) -> Opened | None:
        """What to read from, entered; None where it must be reopened first, or is being, which takes a while."""
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
        """What to read from, entered, opened anew where another process has written since."""
        with self._mutex:
            self._reopen_if_changed()
            self._opened.enter()
            return self._opened

    def opened(self) -> Opened:
        """What is open now, for those who hold the lock or do not mind that it may be replaced."""
        with self._mutex:
            return self._opened

    def writer_lock(self) -> FileLock:
        """A lock on the folder that excludes other processes, and other locks of this one; not held yet."""
        return FileLock(self.path / "leafspan.lock", thread_local=False)

    def try_writing(self, lock: FileLock) -> bool:
        """Hold the lock, with everything that others wrote in sight; False where another writer has it."""
        if not take(lock):
            return False
        with self._mutex:
            if self.changes.writing:
                self.changes.advance()  # a killed or failed writer may have written without counting it
            self._reopen_if_changed()
            self.changes.writing = True
        return True

    def stop_writing(self, lock: FileLock, *, whole: bool = True) -> None:
        """Give the lock back, if it is held; ``whole`` is False where something may be half written, or not counted."""
        if lock.is_locked:
            self.changes.writing = not whole
            lock.release()

    def advance(self) -> int:
        """Tell all readers of a change; only the writer may."""
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
        import chromadb
        from chromadb.config import Settings

        # Chroma shares one opened state among all clients of a process whose paths are spelled alike; a spelling that
        # nobody else uses gives a fresh one, and leaves those of others alone.
        spelling = str(self.path) + "/." * (1 + next(_openings) % _SPELLINGS)
        with self._files.held():
            settings = Settings(anonymized_telemetry=False)
            client = chromadb.PersistentClient(spelling, settings=settings, **self._database)
        return Opened(client, self._files, owned=True)


def take(lock: FileLock) -> bool:
    """Hold the lock; False where another has it."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def folder_at(path: Path, client: Any = None) -> Folder:
    """The gate to a folder, the same one for everybody in this process; ``client`` is used where it is new."""
    tenant, database = (client.tenant, client.database) if client else (None, None)
    place = (path.resolve(), tenant or "default_tenant", database or "default_database")
    with _folders_mutex:
        folder = _folders.get(place)
        if folder is None:
            folder = _folders[place] = Folder(*place, client)
        return folder
