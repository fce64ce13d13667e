"""The lock of the only writer of a folder."""

from __future__ import annotations

from pathlib import Path

from leafspan.store._file_lock import FileLock
from leafspan.store._writing_messages import LOCK


class WriterLock(FileLock):
    """A lock that the only writer of a folder holds.

    A process that writes for another one holds a second lock while it does. If that one is killed, it ends with the call
    that it is in, and nobody acquires this lock before.

    Args:
        folder: The folder.
        read_only: Whether it cannot be written. Default: False.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        super().__init__(folder / "leafspan.lock", read_only=read_only)
        self._other = None if read_only else FileLock(folder / LOCK)

    def try_acquire(self) -> bool:
        """See FileLock."""
        if not super().try_acquire():
            return False
        try:
            if self._other is None or not self._other.path.exists() or self._other.try_acquire():
                return True
        except BaseException:
            self.release()
            raise
        finally:
            if self._other is not None:
                self._other.release()
        self.release()
        return False
