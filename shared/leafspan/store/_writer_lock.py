"""The lock of the only writer of a folder."""

from __future__ import annotations

from pathlib import Path

from leafspan.store._file_lock import FileLock
from leafspan.store._writing_messages import LOCK


class WriterLock:
    """A lock that the only writer of a folder holds. Its methods are those of ``FileLock``.

    A process that writes for another one holds a second lock while it does. If that one is killed, it ends with the call
    that it is in, and nobody acquires this lock before.

    Args:
        folder: The folder.
        read_only: Whether it cannot be written. Default: False.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._own = FileLock(folder / "leafspan.lock", read_only=read_only)
        self._other = None if read_only else FileLock(folder / LOCK)
        self.path = self._own.path

    @property
    def is_locked(self) -> bool:
        """See FileLock."""
        return self._own.is_locked

    @property
    def is_intact(self) -> bool:
        """See FileLock."""
        return self._own.is_intact

    def try_acquire(self) -> bool:
        """See FileLock."""
        if not self._own.try_acquire():
            return False
        is_alone = False
        try:
            is_alone = self._other is None or not self._other.path.exists() or self._other.try_acquire()
        finally:
            if self._other is not None:
                self._other.release()
            if not is_alone:
                self._own.release()
        return is_alone

    def release(self) -> None:
        """See FileLock."""
        self._own.release()

    def holder(self) -> str:
        """See FileLock."""
        return self._own.holder()
