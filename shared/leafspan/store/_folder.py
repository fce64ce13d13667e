"""An embedded Chroma in a folder: shared by the threads of a process, and reopened after another process has written."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import weakref
from collections.abc import Collection, Iterable, Set
from contextlib import suppress
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
from leafspan.store._catalogue_file import CatalogueFile
from leafspan.store._catalogue_records import KnownIndex

_DEFAULT = "default_tenant", "default_database"  # of Chroma
_ATTEMPTS = 3  # to read what is known at one count of changes, while others write
_CHECK_SECONDS = 0.1
_folders: weakref.WeakValueDictionary[tuple[Path, str, str, bool], Folder] = weakref.WeakValueDictionary()
_mutexes: dict[tuple[Path, str, str, bool], threading.Lock] = {}


class Folder:
    """The embedded Chroma in a folder. ``folder_at`` gives the only instance in this process.

    Chroma is opened when it is first needed. What documents there are, a file says, as long as nobody but leafspan has
    written the database since.

    An embedded Chroma never sees vectors that another process adds. So the change counter is compared before each use, and
    Chroma is opened again if another process has changed it.

    Attributes:
        read_only: Whether the folder cannot, or must not, be written.
        only_to_read: Whether it must not, though it can.
        catalogues: The catalogue of each manifest, by its name. All indexes of this process share them.
        changes_of_others: The database's count of changes at the last ``check``, if others than leafspan have changed it,
            and Chroma is open in this process. None otherwise.

    Raises:
        WriterBusy: if another process does not let go of the files in time.
        DamagedIndex: if the files are damaged, and cannot be repaired.
        StorageFailed: if they cannot be read, or the folder cannot be made.
    """

    def __init__(self, path: Path, tenant: str, database: str, read_only: bool, client: Any, deadline: float) -> None:
        if not check_there(path):
            use_embedded_chroma()  # it is needed at once, so a forked process is refused before anything is made
        if not read_only:
            try:
                path.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise disk_error(error, f"make the folder {str(path)!r}") from error
        self.path = path
        self.only_to_read = read_only
        self.read_only = read_only or not _can_be_written(path)
        self._database = {"tenant": tenant, "database": database}
        self.changes = ChangeFile(path / "leafspan.changes", read_only=self.read_only)
        self.catalogues: dict[str, Found] = {}
        self.files = Files(path, self.changes)
        self._next_check = 0.0
        self.changes_of_others: int | None = None
        self._mutex = threading.Lock()
        self._synced = self.changes.count
        self._catalogue_file = CatalogueFile(path / "leafspan.segments" / _catalogue_name(tenant, database))
        self.files.forget = self._catalogue_file.forget
        self._read_up_to: dict[str, int] = {}
        self._is_trusted = self.is_as_left()
        self._opened = None if client is None else self._open(deadline, client)

    def is_as_left(self) -> bool:
        """Whether what leafspan has noted of the database is all that readers are to see of it.

        While a writer is at work, and after one was killed, the database has more. Readers see what was noted last, which
        is whole, and nobody waits for Chroma, which has no timeout: a stopped writer may hold its database.

        Raises:
            DamagedIndex: if the database is gone, or none.
        """
        return self.files.is_as_left() or self.changes.is_in_use

    @property
    def is_replaced(self) -> bool:
        """Whether something else lies in the folder by now: it was deleted, or put back from a backup."""
        return self.files.is_replaced

    def check(self) -> None:
        """Check that the folder is still the one that was opened, and notice if its counter was replaced.

        That is looked at ten times a second at most, since it takes as long as reading the counter ten times.

        Raises:
            DamagedIndex: if the database is gone.
            StorageFailed: if another one lies there.
        """
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _CHECK_SECONDS
        if self.files.is_replaced:
            self._next_check = 0.0
            check_there(self.path)
            raise StorageFailed(f"what was opened in {str(self.path)!r} was deleted or replaced meanwhile: open it again")
        self.changes.follow()
        self.changes_of_others = None if self._opened is None else self.files.changes_of_others

    def known(self, name: str) -> tuple[int, KnownIndex] | None:
        """An index as it is now, and the count of changes that it belongs to; None if only Chroma can tell."""
        for _ in range(_ATTEMPTS if self._is_trusted else 0):
            count = self.changes.count
            if self._read_up_to.get(name) == count:
                return None
            if (known := self._catalogue_file.read(name, count)) is not None:
                return count, known
        return None

    def has_read(self, name: str) -> None:
        """Note that this process has just read an index from Chroma, where it may have met what a writer will count next.

        So that no document goes back to an older version here, only a later count of changes is believed.
        """
        self._read_up_to[name] = self.changes.count

    def lacks(self, name: str) -> bool:
        """Whether it is known that there is no index of this name."""
        return self._is_trusted and self._catalogue_file.lacks(name, self.changes.count)

    def kept(self, name: str, count: int) -> KnownIndex | None:
        """An index as its file says that it was at a count of changes, read anew; None if the file does not tell."""
        return self._catalogue_file.anew().read(name, count)

    def keep(self, name: str, count: int, known: KnownIndex, names: Iterable[str], *, anew: bool = False) -> None:
        """Keep an index as it was read from Chroma at a count of changes, so that others need not open Chroma for it."""
        if self.read_only or self.changes.count != count:
            return
        if anew or not self._is_trusted:
            self._catalogue_file.forget()
        with suppress(OSError):  # who needs it reads Chroma
            self._catalogue_file.keep(name, count, known, names)
            self._is_trusted = True

    def found(self, name: str) -> None:
        """Note that no vectors of a collection are missing any more."""
        if self._opened is not None:
            self._opened.lost.discard(name)

    @property
    def lost(self) -> Set[str]:
        """Names of the collections that have lost vectors, which are not made anew yet."""
        return self.files.lost.collections() if self._opened is None else self._opened.lost

    def reader(self) -> Opened | None:
        """The open client, entered by one more reader; None if it is out of date or is being reopened."""
        return self._entered(up_to_date=True)

    def manifest_reader(self) -> Opened | None:
        """Like ``reader``, for the manifest only, which a client that is out of date reads as it is now."""
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
        """The open client, entered by one more reader, and reopened first if it is out of date. That may take a while.

        Raises:
            WriterBusy: if they do not let go of the files in time.
        """
        with held(self._mutex, deadline, self._what):
            opened = self._up_to_date(deadline)
            opened.enter()
            return opened

    def opened(self, deadline: float) -> Opened:
        """The open client, not entered. Only a process that holds the writer's lock can be sure that it is not replaced."""
        if self._opened is None or self._opened.process != os.getpid():
            self.reopened_reader(deadline).leave()
        assert self._opened is not None
        return self._opened

    @property
    def is_open(self) -> bool:
        """Whether this process has Chroma open."""
        return self._opened is not None and self._opened.process == os.getpid()

    def let_go(self, deadline: float) -> None:
        """Have Chroma opened anew when it is needed next. Only for the writer."""
        with held(self._mutex, deadline, self._what):
            self._retire()

    def shown_client(self, deadline: float) -> Any:
        """The open client for a user, who may keep it. So from now on it is this process that writes."""
        self.reopened_reader(deadline).leave()
        return self.opened(deadline).client

    def check_writable(self) -> None:
        """Check that the folder can be written.

        Raises:
            StorageReadOnly: if it cannot, or must not.
        """
        if self.read_only:
            remedy = ": open it without read_only=True to write" if self.only_to_read else ""
            raise StorageReadOnly(f"cannot write the index in {str(self.path)!r}: {self._why_read_only}{remedy}")

    @property
    def _why_read_only(self) -> str:
        if self.only_to_read:
            return "it was opened to be read only"
        return "the folder, or a file in it, is read-only for this process"

    def writer_lock(self) -> FileLock:
        """A new writer's lock, not acquired yet. It excludes other processes, and other locks of this process.

        Raises:
            StorageReadOnly: if the folder cannot, or must not, be written.
        """
        self.check_writable()
        return FileLock(self.path / "leafspan.lock")

    def try_writing(self, lock: FileLock, deadline: float) -> bool:
        """Try to acquire the lock without waiting, and reopen Chroma if others have written. False if the lock is taken."""
        if not lock.try_acquire():
            return False
        with held(self._mutex, deadline, self._what):
            if self.changes.writing:
                self.changes.advance()  # a killed or failed writer may not have counted what it wrote
            self._up_to_date(deadline)
            self.changes.writing = True
        return True

    def stop_writing(self, lock: FileLock, *, whole: bool = True) -> None:
        """Release the lock, if it is held."""
        if lock.is_locked:
            try:
                if whole:
                    self.changes.writing = False
            finally:
                lock.release()

    def advance(self, lock: FileLock, deadline: float, change: Change | None = None) -> int:
        """Count a change, so that all readers notice it, and return the new count. Only for the writer.

        Raises:
            StorageFailed: if the lock's file was deleted, so that another writer may be at work.
        """
        if not lock.is_intact:
            raise StorageFailed(f"{str(lock.path)!r} was deleted while a writer held it: do not delete it; write again")
        with held(self._mutex, deadline, self._what):
            self.changes.follow()
            if change is not None and self._is_trusted:
                # Before it is counted: so the file has it as soon as somebody looks for it.
                with suppress(OSError):
                    self._catalogue_file.append(*change.at(self.changes.count))
            count = self.changes.advance()
            self._synced = count
            return count

    def begin_anew(self) -> None:
        """In a forked process: do not wait for threads of the parent, which are not there."""
        self._mutex = threading.Lock()
        self._catalogue_file.begin_anew()

    @property
    def _what(self) -> str:
        return f"opening {str(self.path)!r}"

    def _retire(self) -> None:
        """Have Chroma opened anew when it is needed next."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.retire()

    def _up_to_date(self, deadline: float) -> Opened:
        """The open client, opened first if it is not, and opened again if others have written since."""
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
                f"only Chroma has what is asked for, and writes to {str(self.path)!r} to be opened, but "
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


class Found(NamedTuple):
    """A catalogue as this process has found it.

    Attributes:
        change: The count of changes that it belongs to.
        catalogue: The catalogue.
        is_of_chroma: Whether Chroma itself was read, or has been written by this process.
    """

    change: int
    catalogue: Catalogue
    is_of_chroma: bool


class Change(NamedTuple):
    """A change of an index.

    Attributes:
        name: Name of the index.
        known: The index after the change.
        documents: Ids of the documents whose rows have changed, or are gone.
    """

    name: str
    known: KnownIndex
    documents: Collection[str]

    def at(self, count: int) -> tuple[str, tuple[int, int], KnownIndex, Collection[str]]:
        """What is written of a change after this count of changes."""
        return self.name, (count, (count + 1) % 2**64), self.known, self.documents


def _catalogue_name(tenant: str, database: str) -> str:
    """The name of the file with the catalogues of a database of Chroma. There may be several in one folder."""
    if (tenant, database) == _DEFAULT:
        return "catalogue"
    return f"catalogue-{hashlib.sha256(json.dumps([tenant, database]).encode()).hexdigest()[:16]}"


def _can_be_written(path: Path) -> bool:
    """Whether this process can write a folder, and what it needs in it."""
    needed = (path, path / "chroma.sqlite3", path / "leafspan.changes", path / "leafspan.files")
    return all(os.access(each, os.W_OK) for each in needed if each.exists())


def folder_at(path: Path, client: Any, deadline: float, *, read_only: bool = False) -> Folder:
    """The embedded Chroma in a folder, the same instance for all users in this process."""
    tenant, database = (client.tenant, client.database) if client else (None, None)
    key = (path.resolve(), tenant or _DEFAULT[0], database or _DEFAULT[1], read_only)
    mutex = _mutexes.setdefault(key, threading.Lock())  # in one step, whatever other threads do
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


def _begin_anew() -> None:
    """In a forked process: let go of the locks that threads of the parent may have held."""
    _mutexes.clear()
    for folder in list(_folders.values()):
        folder.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
