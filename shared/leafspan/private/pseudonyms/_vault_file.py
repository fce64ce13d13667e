"""A vault's SQLite file. Each use opens it, so that threads and processes can share it, also after a fork."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from leafspan.errors import DamagedVault, StorageFailed, StorageFull, StorageReadOnly, VaultNotFound, WriterBusy

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNUSABLE = {
    sqlite3.SQLITE_CANTOPEN: StorageFailed,
    sqlite3.SQLITE_FULL: StorageFull,
    sqlite3.SQLITE_IOERR: StorageFailed,
    sqlite3.SQLITE_PERM: StorageReadOnly,
    sqlite3.SQLITE_PROTOCOL: StorageFailed,
    sqlite3.SQLITE_READONLY: StorageReadOnly,
}
_UNMAKEABLE = {
    errno.ENOSPC: StorageFull,
    errno.EDQUOT: StorageFull,
    errno.EACCES: StorageReadOnly,
    errno.EPERM: StorageReadOnly,
    errno.EROFS: StorageReadOnly,
}

# Deleted data is overwritten. The journal holds older pages, which are encrypted like those in the file.
_PRAGMAS = "PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY"
_TABLES = """
CREATE TABLE header (
    one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, vault BLOB NOT NULL, salt BLOB NOT NULL,
    locked BLOB NOT NULL, checksum BLOB NOT NULL, generation INTEGER NOT NULL, seal BLOB NOT NULL
);
CREATE TABLE entries (pseudonym TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    record TEXT PRIMARY KEY, home TEXT NOT NULL, owner TEXT NOT NULL, stored_ids TEXT NOT NULL,
    document TEXT NOT NULL, alias TEXT NOT NULL, settled INTEGER NOT NULL, content BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX by_alias ON records (home, alias);
CREATE INDEX by_owner ON records (home, owner);
CREATE INDEX unsettled ON records (home) WHERE NOT settled;
CREATE TABLE uses (record TEXT NOT NULL, pseudonym TEXT NOT NULL, PRIMARY KEY (record, pseudonym)) WITHOUT ROWID;
CREATE INDEX by_pseudonym ON uses (pseudonym);
"""


_STEP = 0.05  # seconds, longer than one step of any current file system's clock
_SCHEMA = "SELECT type, name, tbl_name, sql FROM main.sqlite_master"


@lru_cache(maxsize=1)
def _schema() -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_TABLES)
        return set(database.execute(_SCHEMA))


class VaultFile:
    """The database of a vault."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self._timeout = timeout
        self._stamped = 0

    def make(self, header: tuple[object, ...]) -> None:
        """Make the file with its header, unless it exists. The file gets its name only when it is complete."""
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with self._errors(), closing(self._connection(draft)) as database:
                database.executescript(_TABLES)
                marks = ",".join("?" * len(header))
                database.execute(f"INSERT INTO header VALUES (1,{marks})", header)
            with suppress(FileExistsError):  # another process was faster
                os.link(draft, self.path)
                self.stamp()
        except OSError as error:
            kind = _UNMAKEABLE.get(error.errno or 0, StorageFailed)
            raise kind(f"the vault {str(self.path)!r} cannot be made: {error.strerror}") from error
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one state of the file."""
        with self._transaction("BEGIN") as database:
            yield database

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is written completely or not at all, even if the process ends. It raises like ``reading``."""
        with self._transaction("BEGIN IMMEDIATE") as database:
            yield database

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        if not self.path.is_file():
            raise VaultNotFound(f"there is no vault {str(self.path)!r}")
        with self._errors(), closing(self._connection(self.path)) as database:
            database.execute(begin)
            yield database
            database.execute("COMMIT")

    def has_its_schema(self, database: sqlite3.Connection) -> bool:
        """Whether the file has only its original tables and indexes, and nothing else, such as triggers."""
        return set(database.execute(_SCHEMA)) == _schema()

    def fingerprint(self) -> tuple[object, ...]:
        """Values that change when anybody writes the file.

        This must not open the file: closing it again would release this process's SQLite locks.
        """
        wal = self.path.with_name(f"{self.path.name}-wal")
        written = [os.stat(each) for each in (self.path, wal) if each.exists()]
        return tuple((each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns) for each in written)

    def is_settled(self) -> bool:
        """Whether another write would change the file's times. A file system's clock moves in steps."""
        status = os.stat(self.path)
        return status.st_mtime_ns == self._stamped or time.time() - max(status.st_mtime, status.st_ctime) > _STEP

    def stamp(self) -> None:
        """Give the file a unique time, which differs from any other write in the same step of the clock."""
        self._stamped = time.time_ns() // 1000 * 1000 + random.randrange(1000)
        with suppress(OSError):
            os.utime(self.path, ns=(self._stamped, self._stamped))

    @property
    def mark(self) -> Path:
        """The file with the number of writes to the vault, which shows whether the vault is an older copy."""
        return self.path.with_name(f"{self.path.name}.mark")

    def read_mark(self) -> bytes:
        """Read the mark. Return empty bytes if there is no mark."""
        try:
            return self.mark.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise StorageFailed(f"the file {str(self.mark)!r} cannot be read: {error.strerror}") from error

    def make_mark(self) -> None:
        """Make the mark unless it exists, and check that it can be written, before a transaction ends."""
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            kind = _UNMAKEABLE.get(error.errno or 0, StorageFailed)
            raise kind(f"the file {str(self.mark)!r} cannot be written: {error.strerror}") from error

    def write_mark(self, mark: bytes) -> None:
        """Write the mark in one step. If this fails, the mark has a lower number, which does no harm."""
        with suppress(OSError), open(self.mark, "r+b", buffering=0) as file:
            file.write(mark)

    def _connection(self, path: Path) -> sqlite3.Connection:
        uri = f"{path.resolve().as_uri()}?mode=rw"  # a missing file is an error; SQLite does not make an empty one
        database = sqlite3.connect(uri, uri=True, timeout=self._timeout, isolation_level=None)
        try:
            database.executescript(_PRAGMAS)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn SQLite's errors into leafspan's."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in _BUSY:
                raise WriterBusy(
                    f"another process uses the vault {str(self.path)!r} for longer than the timeout of {self._timeout:g} s"
                ) from error
            if code in _UNUSABLE:
                raise _UNUSABLE[code](f"the vault {str(self.path)!r} cannot be used: {error}") from error
            raise self.damaged(str(error)) from error
        except (UnicodeDecodeError, OverflowError) as error:  # from sqlite3, for damaged texts or numbers
            raise self.damaged(str(error)) from error

    def damaged(self, reason: str) -> DamagedVault:
        """Make the error for a damaged file."""
        return DamagedVault(f"the vault {str(self.path)!r} is damaged, or not a vault: {reason}; restore it from a backup")


class WritersLock:
    """A lock that several can share or one can have alone. The operating system releases a killed process's lock.

    The lock object exists before it is acquired, so that a task that is cancelled while it waits can release it.

    It uses SQLite's lock of a separate file, since that works on every system.
    """

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._file = vault.with_name(f"{vault.name}.writers")
        self._database: sqlite3.Connection | None = None

    def share(self, timeout: float) -> None:
        """Acquire the lock together with other writers."""
        if not self._acquire("BEGIN", timeout):
            raise WriterBusy(f"the vault {str(self._vault)!r} is cleaned up longer than the timeout of {timeout:g} s")

    def take_alone(self) -> bool:
        """Try to acquire the lock alone. Return False if another process has it."""
        return self._acquire("BEGIN EXCLUSIVE", 0)

    def _acquire(self, begin: str, timeout: float) -> bool:
        database = None
        try:
            database = sqlite3.connect(self._file, timeout=timeout, isolation_level=None, check_same_thread=False)
            database.execute(begin)
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # reading takes a shared lock
        except sqlite3.Error as error:
            if database is not None:
                database.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return False
            raise StorageFailed(f"the lock {str(self._file)!r} cannot be used: {error}") from error
        self._database = database
        return True

    def release(self) -> None:
        """Release the lock, if it is held."""
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            database.close()
