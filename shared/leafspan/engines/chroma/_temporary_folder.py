"""A folder in the system's folder for temporary files, which is gone in the end, also if its process was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from leafspan.engines.local._file_lock import FileLock
from leafspan.errors import StorageFailed

_LOCK = "leafspan.in-use"
_SECONDS_TO_LOCK = 10.0  # a folder as young as this may be one whose process has not locked it yet


class TemporaryFolder:
    """A new folder, in use until it is removed or its process has ended.

    A process that is killed cannot remove its folder. So whoever makes one of the same beginning removes those that nobody
    uses any more.

    Attributes:
        path: The folder.

    Raises:
        OSError: if it cannot be made.
        StorageFailed: if it cannot be locked.
    """

    def __init__(self, beginning: str) -> None:
        _remove_unused(beginning)
        self.path = Path(tempfile.mkdtemp(prefix=beginning))
        self._lock = FileLock(self.path / _LOCK)
        self._lock.try_acquire()

    def remove(self) -> None:
        """Remove the folder, and what is in it."""
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_unused(beginning: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{beginning}*"):
        lock = FileLock(folder / _LOCK)
        with suppress(OSError, StorageFailed):
            if _can_be_unused(folder) and lock.try_acquire():
                lock.release()
                shutil.rmtree(folder, ignore_errors=True)


def _can_be_unused(folder: Path) -> bool:
    """Whether it is a folder of this user that is old enough to be locked if it is used."""
    found = folder.lstat()
    own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return own and (folder / _LOCK).exists() and time.time() - found.st_mtime > _SECONDS_TO_LOCK
