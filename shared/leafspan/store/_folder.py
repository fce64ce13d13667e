"""An embedded Chroma in a folder. A process's threads share it, and reopen it after another process has written."""

from __future__ import annotations

import os
import threading
import time
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.engines.chroma import (
    Files,
    Opened,
    check_there,
    fresh_client,
    refused_database,
    use_embedded_chroma,
)
from leafspan.engines.local import ChangeFile, FileLock, disk_error, held
from leafspan.errors import StorageFailed, StorageReadOnly
from leafspan.store._catalogue import Catalogue
from leafspan.store._rows_file import ROWS, RowsFile

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
        self.catalogues: dict[str, CatalogueAt] = {}  # by name of the index; all indexes of this process share them
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
        self.changes_of_others = None if self._opened is None else self.files.changes_of_others

    def reader(self) -> Opened | None:
        """Enter the open client as a reader, or return None if it is out of date or being reopened."""
        return self._entered(up_to_date=True)

    def late_reader(self) -> Opened | None:
        """Enter the open client as a reader even if it is out of date, since it still reads what is not a vector."""
        return self._entered(up_to_date=False)

    def _entered(self, *, up_to_date: bool) -> Opened | None:
        if not self._mutex.acquire(blocking=False):
            return None
        try:
            opened = self._opened
            if opened is None or not self._can_be_used(opened, up_to_date=up_to_date):
                return None
            opened.enter()
            return opened
        finally:
            self._mutex.release()

    def _can_be_used(self, opened: Opened, *, up_to_date: bool) -> bool:
        if opened.failed or opened.process != os.getpid():
            return False
        return not up_to_date or self._synced == self.changes.count

    def reopened_reader(self, deadline: float) -> Opened:
        """Enter the open client as a reader, and reopen it first if it is out of date. This may take a while."""
        with held(self._mutex, deadline, self._what):
            opened = self._up_to_date(deadline)
            opened.enter()
            return opened

    def opened(self, deadline: float) -> Opened:
        """Return the open client without entering it. Only the writer can be sure that it is not replaced."""
        if self._opened is None or self._opened.process != os.getpid():
            self.reopened_reader(deadline).leave()
        assert self._opened is not None
        return self._opened

    @property
    def is_open(self) -> bool:
        """Whether this process has Chroma open."""
        return self._opened is not None and self._opened.process == os.getpid()

    def let_go(self, deadline: float) -> None:
        """Close Chroma; it is opened again when it is needed. Only the writer may call this."""
        with held(self._mutex, deadline, self._what):
            self._retire()

    def shown_client(self, deadline: float) -> Any:
        """The open client for a user, who may keep it. This process then holds the database as a writer."""
        self.reopened_reader(deadline).leave()
        return self.opened(deadline).client

    def check_writable(self) -> None:
        """Check that this process can write the folder."""
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

    def reset_after_fork(self) -> None:
        """Reset the mutex in a forked process: it does not have the parent's threads."""
        self._mutex = threading.Lock()

    @property
    def _what(self) -> str:
        return f"opening {str(self.path)!r}"

    def _retire(self) -> None:
        """Close Chroma; it is opened again when it is needed."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.retire()

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


class CatalogueAt(NamedTuple):
    """A catalogue, and the change count at which this process has read it."""

    change: int
    catalogue: Catalogue


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
        folder.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
