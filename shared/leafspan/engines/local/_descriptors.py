"""Small files that stay open: opened without following links, and read and written at a place in them."""

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

_mutex = threading.Lock()  # where reading at a place takes two steps


def open_file(path: Path, flags: int) -> int:
    """A descriptor of a file, opened with these flags of ``os.open``.

    Raises:
        OSError: if it cannot be opened, or is a folder, which can be opened to be read, but not read.
    """
    descriptor = os.open(path, flags, 0o666)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return descriptor


def read_at(descriptor: int, length: int, place: int) -> bytes:
    """At most so many bytes from a place in a file. Threads do not disturb each other."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, place)
    with _mutex:
        os.lseek(descriptor, place, os.SEEK_SET)
        return os.read(descriptor, length)


def write_at(descriptor: int, content: bytes, place: int) -> None:
    """Write bytes at a place in a file."""
    if hasattr(os, "pwrite"):
        os.pwrite(descriptor, content, place)
        return
    with _mutex:
        os.lseek(descriptor, place, os.SEEK_SET)
        os.write(descriptor, content)


class OpenFile:
    """A file that stays open for reading until nobody needs it any more, whatever is put in its place."""

    def __init__(self, descriptor: int) -> None:
        try:
            self._descriptor = os.dup(descriptor)
        except OSError as error:
            raise disk_error(error, "keep a file open") from error
        weakref.finalize(self, os.close, self._descriptor)

    def read(self, length: int, place: int) -> bytes:
        """At most so many bytes from a place."""
        return read_at(self._descriptor, length, place)
