"""Who is writing through a vault: many at the same time, or nobody while what killed writers have left is cleaned up."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from leafspan.errors import StorageFailed, WriterBusy


class WritersLock:
    """A lock that several can share, or one can have alone. The operating system releases that of a killed process.

    It is made before it is acquired, so that a task that is cancelled while it waits can release it.

    SQLite's lock of a file of its own serves for this, since it works on every system.
    """

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._file = vault.with_name(f"{vault.name}.writers")
        self._database: sqlite3.Connection | None = None

    def share(self, timeout: float) -> None:
        """Acquire it together with other writers.

        Raises:
            WriterBusy: if somebody has it alone for longer than the timeout.
        """
        if not self._acquire("BEGIN", timeout):
            raise WriterBusy(f"the vault {str(self._vault)!r} is cleaned up for longer than the timeout of {timeout:g} s")

    def take_alone(self) -> bool:
        """Try to acquire it for the caller alone. False if somebody else has it."""
        return self._acquire("BEGIN EXCLUSIVE", 0)

    def _acquire(self, begin: str, timeout: float) -> bool:
        database = None
        try:
            database = sqlite3.connect(self._file, timeout=timeout, isolation_level=None, check_same_thread=False)
            database.execute(begin)
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # a shared lock is taken by reading
        except sqlite3.Error as error:
            if database is not None:
                database.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return False
            raise StorageFailed(f"the lock {str(self._file)!r} cannot be used: {error}") from error
        self._database = database
        return True

    def release(self) -> None:
        """Let others have it. Does nothing if it is not held."""
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            database.close()
