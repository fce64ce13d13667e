"""The lock of a vault's writers. Many write at the same time, but nobody while a killed writer's records are settled."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from leafspan.errors import StorageFailed, WriterBusy


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
        """Acquire the lock together with other writers.

        Raises:
            WriterBusy: if another process has it alone for longer than the timeout.
        """
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
