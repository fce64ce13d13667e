"""Small files that stay open: opened without following links, and read and written at an offset."""

from __future__ import annotations

import errno
import os
import stat
import threading
import weakref
from pathlib import Path

from leafspan.engines.local._disk_errors import disk_error

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for ``os.open`` that refuse a link, where the system can."""

_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a FIFO would wait for its other end
_mutex = threading.Lock()  # for systems where reading at an offset takes two steps


def open_file(path: str | Path, flags: int) -> int:
    """Open a regular file with these flags of ``os.open``, and return its descriptor.

    Raises:
        OSError: if it cannot be opened, or is a folder or a FIFO.
    """
    descriptor = os.open(path, flags | _NO_WAIT, 0o666)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_at(descriptor: int, length: int, place: int) -> bytes:
    """Read at most ``length`` bytes at an offset in a file. Threads do not disturb each other."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, place)
    with _mutex:
        os.lseek(descriptor, place, os.SEEK_SET)
        return os.read(descriptor, length)


def write_at(descriptor: int, content: bytes, place: int) -> None:
    """Write bytes at an offset in a file."""
    if hasattr(os, "pwrite"):
        os.pwrite(descriptor, content, place)
        return
    with _mutex:
        os.lseek(descriptor, place, os.SEEK_SET)
        os.write(descriptor, content)


class OpenFile:
    """A file that stays open for reading until it is no longer needed, even if another file replaces it."""

    def __init__(self, descriptor: int) -> None:
        try:
            self._descriptor = os.dup(descriptor)
        except OSError as error:
            raise disk_error(error, "keep a file open") from error
        weakref.finalize(self, os.close, self._descriptor)

    def read(self, length: int, place: int) -> bytes:
        """Read at most ``length`` bytes at an offset."""
        return read_at(self._descriptor, length, place)
