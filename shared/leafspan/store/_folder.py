"""An embedded Chroma in a folder. A process's threads share it, and reopen it after another process has written."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from collections.abc import Collection as Collected
from pathlib import Path
from typing import Any, TypeVar

from leafspan.engines import Field, Near, Record
from leafspan.engines.chroma import (
    Collection,
    Files,
    Opened,
    check_there,
    fresh_client,
    refused_database,
    use_embedded_chroma,
)
from leafspan.engines.local import ChangeFile, FileLock, deadline_after, disk_error, held, wait_for_lock
from leafspan.errors import DamagedIndex, StorageFailed, StorageReadOnly
from leafspan.flows import Call, Flow
from leafspan.store._catalogue import Catalogue
from leafspan.store._rows_file import ROWS, RowsFile

T = TypeVar("T")

DEFAULT_DATABASE = "default_tenant", "default_database"  # Chroma's default tenant and database
_CHECK_SECONDS = 0.1
_folders: weakref.WeakValueDictionary[tuple[Path, str, str, bool], Folder] = weakref.WeakValueDictionary()
_mutexes: dict[tuple[Path, str, str, bool], threading.Lock] = {}


class Folder:
    """The embedded Chroma in a folder. ``folder_at`` returns the only instance in this process.

    Chroma is opened when it is first needed. The rows of the indexes are in a file of their own.

    An open embedded Chroma never sees vectors that another process adds. So leafspan compares the change counter before
    each use, and opens Chroma again if another process has changed it.
    """

    def __init__(self, path: Path, tenant: str, database: str, read_only: bool, client: Any, deadline: float) -> None:
        if not check_there(path):
            use_embedded_chroma()  # a forked process is refused here, before the folder is made
        if not read_only:
            try:
                path.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise disk_error(error, f"make the folder {str(path)!r}") from error
        self.path = path
        self.only_to_read = read_only  # whether this process could write the folder, but must not
        # Whether this process cannot, or must not, write the folder.
        self.read_only = read_only or not _can_be_written(path)
        self._database = {"tenant": tenant, "database": database}
        self.changes = ChangeFile(path / "leafspan.changes", read_only=self.read_only)
        self.states: dict[str, FolderState] = {}  # by name of the index; all indexes of this process share them
        self.files = Files(path, self.changes)
        self._next_check = 0.0
        self.changes_of_others: int | None = None  # at the last ``check``, if others changed the open database
        self._mutex = threading.Lock()
        self._synced = self.changes.count
        self.rows = RowsFile(path, tenant, database, read_only=self.read_only)
        weakref.finalize(self, self.rows.close).atexit = False  # catalogues may live longer
        self._opened = None if client is None else self._open(deadline, client)

    def only_leafspan_wrote(self) -> bool:
        """Whether the files have all that readers should see of the database.

        While a writer is at work, or after one was killed, the database has more. Readers then see the last noted state,
        which is complete. They do not wait for Chroma, which has no timeout: a stopped writer may hold its database.
        """
        return self.files.only_leafspan_wrote() or self.changes.is_in_use

    @property
    def is_replaced(self) -> bool:
        """Whether the folder was deleted, or replaced by a backup."""
        return self.files.is_replaced or self.rows.is_replaced

    def check(self) -> None:
        """Check that the folder is still the one that was opened, and notice a replaced change counter.

        This is checked at most ten times a second, since it takes ten times as long as reading the counter.
        """
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_SECONDS
        if self.is_replaced:
            self._next_check = 0.0
            check_there(self.path)
            if not self.files.is_replaced:
                self.rows.check_there()
            raise StorageFailed(
                f"the index in {str(self.path)!r} was deleted or replaced after it was opened: open it again"
            )
        self.changes.follow()
        self.changes_of_others = self.files.changes_of_others if self.is_open else None

    def with_client(self, use: Callable[[Opened], Flow[T]], timeout: float) -> Flow[T]:
        """Run a flow with the open client. Chroma is opened first if it is not open, and again if it is out of date."""
        opened = yield Call(self.entered, (deadline_after(timeout),))
        try:
            return (yield from use(opened))
        finally:
            opened.leave()

    def with_collection(self, name: str, use: Callable[[Collection], Flow[T]], timeout: float) -> Flow[T]:
        def with_client(opened: Opened) -> Flow[T]:
            return (yield from use((yield Call(opened.collection, (name, deadline_after(timeout))))))

        self.check()
        return self.with_client(with_client, timeout)

    def entered(self, deadline: float) -> Opened:
        """Enter the open client as a reader, so that it stays open. Opening it may take a while."""
        with held(self._mutex, deadline, self._what):
            opened = self._up_to_date(deadline)
            opened.enter()
            return opened

    def opened(self, deadline: float) -> Opened:
        """The open client, which is not entered. Only the writer can be sure that it is not replaced."""
        with held(self._mutex, deadline, self._what):
            return self._up_to_date(deadline)

    @property
    def is_open(self) -> bool:
        return self._opened is not None and self._opened.process == os.getpid()

    def let_go(self, deadline: float) -> None:
        """Close Chroma; it is opened again when it is needed. Only the writer may call this."""
        with held(self._mutex, deadline, self._what):
            opened, self._opened = self._opened, None
            if opened is not None:
                opened.retire()

    def check_writable(self) -> None:
        if self.read_only:
            remedy = ": open it without read_only=True to write" if self.only_to_read else ""
            raise StorageReadOnly(f"cannot write the index in {str(self.path)!r}: {self._why_read_only}{remedy}")

    @property
    def _why_read_only(self) -> str:
        if self.only_to_read:
            return "it was opened to be read only"
        return "the folder, or a file in it, is read-only for this process"

    def writer_lock(self) -> FileLock:
        """Return a new writer's lock, not acquired yet. It excludes other processes, and other locks of this process."""
        self.check_writable()
        return FileLock(self.path / "leafspan.lock")

    def wait_for(self, lock: FileLock, try_acquire: Callable[[], bool], timeout: float) -> Flow[None]:
        yield from wait_for_lock(try_acquire, timeout, repr(str(self.path)), holder=lock.holder)

    def try_writing(self, lock: FileLock, deadline: float) -> bool:
        """Try to acquire the lock without waiting, and reopen Chroma if others have written. False if taken."""
        if not lock.try_acquire():
            return False
        with held(self._mutex, deadline, self._what):
            if self.changes.writing:
                self.changes.advance()  # a killed or failed writer may not have counted its last change
            self._up_to_date(deadline)
            self.changes.writing = True
        return True

    def stop_writing(self, lock: FileLock, *, whole: bool = True) -> None:
        """Release the lock if this process holds it."""
        if lock.is_locked:
            try:
                if whole:
                    self.changes.writing = False
            finally:
                lock.release()

    def advance(self, lock: FileLock, deadline: float) -> int:
        """Count a change, so that all readers notice it, and return the new count. Only the writer may call this.

        It fails if the lock's file was deleted, so that another writer may be at work.
        """
        if not lock.is_intact:
            raise StorageFailed(f"{str(lock.path)!r} was deleted while a writer held it: do not delete it; write again")
        with held(self._mutex, deadline, self._what):
            self.changes.follow()
            count = self.changes.advance()
            self._synced = count
            return count

    @property
    def _what(self) -> str:
        return f"opening {str(self.path)!r}"

    def _up_to_date(self, deadline: float) -> Opened:
        """The open client. Chroma is opened first if it is not open, and again if others have written since."""
        if self._opened is not None and self._opened.process != os.getpid():
            self._opened = None  # in a forked process, which is refused below
        count = self.changes.count
        if self._opened is None or self._synced != count or self._opened.failed:
            old, self._opened = self._opened, self._open(deadline)
            self._synced = count
            if old is not None:
                old.retire()
        return self._opened

    def _open(self, deadline: float, client: Any = None) -> Opened:
        if self.read_only:
            raise StorageReadOnly(
                f"this needs Chroma, which must write to {str(self.path)!r} to be opened, but "
                f"{self._why_read_only}: open the index where it can be written, and call warm(), check() or repair() there"
            )
        use_embedded_chroma()
        with self.files.locked(deadline, opening=True):
            try:
                opened = client or fresh_client(self.path, **self._database)
            except BaseException as error:
                if explained := self.files.explain(error, "open Chroma") or refused_database(error, self.path):
                    raise explained from error
                raise
        return Opened(opened, self.files, owned=client is None)


class FolderCollection:
    """A collection of an embedded Chroma, for readers. Each call opens Chroma if it is not open."""

    searches_among = False

    def __init__(self, folder: Folder, name: str, timeout: float) -> None:
        self._folder = folder
        self._name = name
        self._timeout = timeout

    def nearest(
        self, vectors: Any, count: int, fields: Collected[Field] = (), *, among: Collected[str] | None = None
    ) -> Flow[list[list[Near]]]:
        return self._with_vectors(lambda table: table.nearest(vectors, count, fields))

    def get(self, ids: Collected[str], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        if not ids:
            return {}
        with_collection = self._with_vectors if "vector" in fields else self._with_collection
        return (yield from with_collection(lambda table: table.get(ids, fields)))

    def scan(self, fields: Collected[Field]) -> Flow[dict[str, Record]]:
        return self._with_collection(lambda table: table.scan(fields))

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        return self._with_collection(lambda table: table.without_vectors(ids))

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        return self._with_collection(lambda table: table.not_found(ids))

    def _with_collection(self, use: Callable[[Collection], Flow[T]]) -> Flow[T]:
        return self._folder.with_collection(self._name, use, self._timeout)

    def _with_vectors(self, use: Callable[[Collection], Flow[T]]) -> Flow[T]:
        def checked(table: Collection) -> Flow[T]:
            # When Chroma is open, since its files were then compared with their checksums.
            if self._name in self._folder.files.to_rebuild:
                raise DamagedIndex(
                    f"Chroma's vectors of {self._name!r} in {str(self._folder.path)!r} were damaged, and have not all been "
                    "made again: run repair() where the folder can be written, with the embedder that made the index"
                )
            return use(table)

        return self._with_collection(checked)


class FolderState:
    """An index in a folder when it was read: its number of changes, and its catalogue."""

    last_token: str | None = None

    def __init__(self, changes: ChangeFile, count: int, catalogue: Catalogue) -> None:
        self._changes = changes
        self.count = count
        self.catalogue = catalogue

    @property
    def has_changed(self) -> bool:
        return self._changes.count != self.count

    def load(self) -> Flow[Catalogue]:
        yield from ()
        return self.catalogue

    def is_behind(self, catalogue: Catalogue) -> Flow[bool]:
        yield from ()
        return False


def _can_be_written(path: Path) -> bool:
    """Whether this process can write a folder and leafspan's files in it."""
    needed = (path, path / "chroma.sqlite3", path / ROWS, path / "leafspan.changes", path / "leafspan.files")
    return all(os.access(each, os.W_OK) for each in needed if each.exists())


def folder_at(path: Path, client: Any, deadline: float, *, read_only: bool = False) -> Folder:
    """Return this process's only ``Folder`` for a path."""
    tenant, database = (client.tenant, client.database) if client else (None, None)
    key = (path.resolve(), tenant or DEFAULT_DATABASE[0], database or DEFAULT_DATABASE[1], read_only)
    mutex = _mutexes.setdefault(key, threading.Lock())  # atomic
    with held(mutex, deadline, f"opening {str(path)!r}"):
        folder = _folders.get(key)
        if folder is None or folder.is_replaced:
            try:
                folder = _folders[key] = Folder(*key, client, deadline)
            except OSError as error:
                if isinstance(error, StorageFailed):
                    raise
                raise disk_error(error, f"open {str(path)!r}") from error
        return folder


def _reset_after_fork() -> None:
    """Reset all locks in a forked process, since threads of the parent may have held them."""
    _mutexes.clear()
    for folder in list(_folders.values()):
        folder._mutex = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
