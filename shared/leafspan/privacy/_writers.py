"""Who is writing through a vault: many at the same time, or nobody while what killed writers have left is cleaned up."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from leafspan.errors import LeafspanError, WriterBusy


class WritersLock:
    """A lock that several can share, or one can have alone. The operating system releases that of a killed process.

    SQLite's lock of a file of its own serves for this, since it works on every system.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @classmethod
    def shared(cls, path: Path, timeout: float) -> WritersLock:
        """The lock, shared with other writers.

        Raises:
            WriterBusy: if somebody has it alone for longer than the timeout, in seconds.
        """
        lock = cls._taken(path, timeout, alone=False)
        if lock is None:
            raise WriterBusy(f"the vault {str(path)!r} is cleaned up for longer than the timeout of {timeout:g} s")
        return lock

    @classmethod
    def alone(cls, path: Path) -> WritersLock | None:
        """The lock for the caller alone; None if somebody else has it."""
        return cls._taken(path, 0, alone=True)

    @classmethod
    def _taken(cls, path: Path, timeout: float, *, alone: bool) -> WritersLock | None:
        file = path.with_name(f"{path.name}.writers")
        database = None
        try:
            database = sqlite3.connect(file, timeout=timeout, isolation_level=None, check_same_thread=False)
            database.execute("BEGIN EXCLUSIVE" if alone else "BEGIN")
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # a shared lock is taken by reading
        except sqlite3.Error as error:
            if database is not None:
                database.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return None
            raise LeafspanError(f"the lock {str(file)!r} cannot be used: {error}") from error
        return cls(database)

    def release(self) -> None:
        """Let others have it."""
        with suppress(sqlite3.Error):
            self._database.execute("ROLLBACK")
        self._database.close()
