"""A counter in a file, by which processes that share a folder notice each other's writes."""

from __future__ import annotations

import os
import time
import weakref
import zlib
from pathlib import Path

from leafspan.engines.local._disk import NO_FOLLOW, disk_error, open_file, read_at, write_at
from leafspan.errors import StorageReadOnly

_SIZE = 32


class ChangeFile:
    """Four numbers in a small file that each process keeps open, so that reading one takes less than a microsecond.

    ``count`` changes with every change that readers must see. ``writing`` is True while a writer is at work, and stays
    True if the writer is killed or fails. ``touching`` is the same for Chroma's files. ``database`` is the lowest count of
    changes that the database may have: see ``Files``.

    The file is not mapped into memory: reading a mapped file that somebody has shortened would end the process.

    SQLite's own ``PRAGMA data_version`` is no alternative. It needs a second copy of SQLite on Chroma's file. When that
    copy closes the file, the locks of Chroma's copy are dropped (sqlite.org/howtocorrupt.html, section 2.2.1).
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._descriptor = -1
        self._own: os.stat_result | None = None
        self._open()

    def follow(self) -> None:
        """Open the file again if it was deleted, replaced or shortened. Its count differs then."""
        try:
            status = os.lstat(self.path)
        except OSError:
            is_same = self._own is None
        else:
            is_same = self._own is not None and status.st_size >= _SIZE and os.path.samestat(self._own, status)
        if not is_same:
            self._open()

    def _open(self) -> None:
        descriptor = -1
        try:
            flags = os.O_RDONLY if self._read_only else os.O_RDWR | os.O_CREAT
            descriptor = open_file(self.path, flags | NO_FOLLOW)
            if not self._read_only and os.fstat(descriptor).st_size < _SIZE:
                _begin(descriptor)
        except FileNotFoundError as error:
            if not self._read_only:
                raise disk_error(error, f"make {str(self.path)!r}") from error
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            raise disk_error(error, f"open {str(self.path)!r}") from error
        if descriptor >= 0:
            # Another thread may be reading from the old descriptor, so it is closed as late as possible.
            weakref.finalize(self, os.close, descriptor).atexit = False
            self._descriptor, self._own = descriptor, os.fstat(descriptor)

    @property
    def count(self) -> int:
        """Return the number of changes, modulo 2**64. Compare it for equality only."""
        return self._read(0)

    def advance(self) -> int:
        """Count one more change, and return the new count. Only the process with the writer's lock may call it."""
        count = (self.count + 1) % 2**64
        self._write(0, count)
        return count

    @property
    def writing(self) -> bool:
        """Whether a writer is at work, or was killed or failed before it finished."""
        return self._read(1) != 0

    @writing.setter
    def writing(self, value: bool) -> None:
        self._write(1, int(value))

    @property
    def touching(self) -> bool:
        """Whether a process writes or loads Chroma's files, or was killed or failed before it finished."""
        return self._read(2) != 0

    @touching.setter
    def touching(self, value: bool) -> None:
        self._write(2, int(value))

    @property
    def is_in_use(self) -> bool:
        """Whether a writer or a user of Chroma's files is at work, or was killed or failed before it finished."""
        return self.touching or self.writing

    @property
    def database(self) -> int | None:
        """The database's own count of changes after leafspan's last use, or None if unknown."""
        check, count = divmod(self._read(3), 2**32)
        return count if check == _check(count) else None

    @database.setter
    def database(self, count: int) -> None:
        self._write(3, _check(count) * 2**32 + count)

    def _read(self, place: int) -> int:
        if self._descriptor < 0:
            return 0
        return int.from_bytes(read_at(self._descriptor, 8, 8 * place), "little")

    def _write(self, place: int, number: int) -> None:
        if self._descriptor < 0:
            raise StorageReadOnly(f"cannot write {str(self.path)!r}: the folder cannot be written")
        try:
            write_at(self._descriptor, number.to_bytes(8, "little"), 8 * place)
        except OSError as error:
            raise disk_error(error, f"write {str(self.path)!r}") from error


def _check(count: int) -> int:
    """Return a checksum of a count below 2**32, since a wrong count would make a whole database look damaged."""
    return zlib.crc32(count.to_bytes(4, "little"))


def _begin(descriptor: int) -> None:
    """Extend a file to its full length with zeros. Two processes may do that at once."""
    if os.fstat(descriptor).st_size == 0:
        # A count that no process has seen before, for the case that the file was deleted while others had it open.
        write_at(descriptor, (time.time_ns() % 2**64).to_bytes(8, "little"), 0)
    os.ftruncate(descriptor, _SIZE)
