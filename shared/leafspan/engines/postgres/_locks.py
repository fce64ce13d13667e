"""Locks on documents: writers of the same document wait for each other, other writers do not."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from leafspan.engines.postgres._sessions import is_lost
from leafspan.errors import WriterBusy
from leafspan.flows import in_thread

_MOST = 1_000  # documents that are locked one by one. A server has room for about 6,000 locks of all its writers


class Locks:
    """Advisory locks of one connection. The server releases them when the connection ends, also after a kill.

    Every writer shares a lock on the whole index, and holds one on each of its documents. A writer of unknown documents,
    or of very many, holds the whole index alone.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._connection: Any = None
        self._mutex = threading.Lock()
        self._released: Future[None] | None = None

    def acquire(self, index: str, documents: Sequence[str] | None, timeout: float, what: str) -> Callable[[], None]:
        """Lock documents of an index, or all of them without ``documents``. Call the result to unlock them.

        Raises:
            WriterBusy: if other writers hold the locks for longer than the timeout.
        """
        from psycopg import Error
        from psycopg.errors import LockNotAvailable

        with self._mutex:
            if self._released is not None:
                self._released.result()
            for is_last in (False, True):
                try:
                    self._lock(index, documents, timeout)
                    break
                except LockNotAvailable as error:
                    self._release()
                    raise WriterBusy(
                        f"another writer has held {what} for more than the timeout of {timeout:g} seconds: wait for it, or "
                        "open the index with a longer timeout; if it hangs, end it"
                    ) from error
                except Error as error:
                    self._drop()
                    if is_last or not is_lost(error):
                        raise
        return self.release

    def _lock(self, index: str, documents: Sequence[str] | None, timeout: float) -> None:
        connection = self._connected()
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{max(1, round(timeout * 1000))}ms",))
        if documents is None or len(documents) > _MOST:
            connection.execute("SELECT pg_advisory_lock(%s)", (_number(index, 8),))
            return
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (_number(index, 8),))
        # Sorted, so that two writers never wait for each other.
        numbers = sorted({_number(each, 4) for each in documents})
        statement = "SELECT pg_advisory_lock(%s, each) FROM unnest(%s::int[]) AS each"
        connection.execute(statement, (_number(index, 4), numbers))

    def release(self) -> None:
        """Release the locks without waiting for the server: the next ``acquire`` waits."""
        self._released = in_thread(self._release)

    def _release(self) -> None:
        try:
            self._connection.execute("SELECT pg_advisory_unlock_all()")
        except Exception:  # the server releases them with the connection
            self._drop()

    def close(self) -> None:
        """Close the connection."""
        with self._mutex:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> Any:
        import psycopg

        if self._connection is None or self._connection.closed:
            address, options = (each() if callable(each) else each for each in (self._pool.conninfo, self._pool.kwargs))
            self._connection = psycopg.connect(address or "", **{**(options or {}), "autocommit": True})
        return self._connection


def _number(text: str, size: int) -> int:
    """Hash a text to a whole number of ``size`` bytes."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest(), "big", signed=True)
