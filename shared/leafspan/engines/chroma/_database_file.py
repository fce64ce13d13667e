"""Reads Chroma's SQLite file without SQLite: whether it is an SQLite file, and how often it was changed."""

from __future__ import annotations

import os
import re
import stat
import weakref
from pathlib import Path

from leafspan.engines.local._descriptors import open_file, read_at
from leafspan.engines.local._disk_errors import disk_error
from leafspan.errors import DamagedIndex

DATABASE = "chroma.sqlite3"
RESTORE = "put the whole folder back from a backup, or delete it and add the documents again"

_MAGIC = b"SQLite format 3\0"
_HEAD = 100
_SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class DatabaseFile:
    """The SQLite file, open for as long as this object lives.

    Closing a file drops all locks that this process has on it, including the locks of Chroma's SQLite
    (sqlite.org/howtocorrupt.html, section 2.2.1). So leafspan opens it once, before Chroma does, and closes it after
    Chroma.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE
        try:
            self._descriptor = open_file(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
            self._own = os.fstat(self._descriptor)
        except OSError as error:
            raise disk_error(error, f"open {str(self.path)!r}") from error
        weakref.finalize(self, os.close, self._descriptor).atexit = False

    @property
    def changes(self) -> int | None:
        """Return the number of transactions that changed the file, modulo 2**32, from SQLite's file header.

        None if SQLite uses a write-ahead log, since it does not count changes in the header then.
        """
        head = read_at(self._descriptor, _HEAD, 0)
        return int.from_bytes(head[24:28], "big") if len(head) == _HEAD and head[18] == 1 else None

    @property
    def is_at_its_path(self) -> bool:
        """Whether the path still leads to this file. False after the file was deleted or replaced."""
        try:
            return os.path.samestat(self._own, os.stat(self.path))
        except OSError:
            return False

    def check(self) -> None:
        """Check that the file is an SQLite file of full length.

        Raises:
            DamagedIndex: if it is not an SQLite file, or shorter than its header says.
        """
        head = read_at(self._descriptor, _HEAD, 0)
        if head[:16] != _MAGIC:
            raise DamagedIndex(f"{str(self.path)!r} must be an SQLite database, and begins with {head[:16]!r}: {RESTORE}")
        length, page = os.fstat(self._descriptor).st_size, int.from_bytes(head[16:18], "big")
        # Like SQLite, believe the number of pages only if it was written along with the count of changes.
        pages = int.from_bytes(head[28:32], "big") if head[24:28] == head[92:96] else 0
        expected = pages * (65536 if page == 1 else page)
        if length < expected and not _has_journal(self.path):
            raise DamagedIndex(f"{str(self.path)!r} must have {expected:,} bytes, and has {length:,}: {RESTORE}")

    def check_not_older(self, noted: int | None) -> None:
        """Check that the file is not older than the files beside it. Call it while no other process uses the file.

        Raises:
            DamagedIndex: if it is older.
        """
        count = self.changes
        if noted is not None and count is not None and _is_older(count, noted):
            raise DamagedIndex(
                f"{str(self.path)!r} is older than the files beside it: it had changed {noted} times when it was last "
                f"used, now it has {count} times: put the whole folder back from one backup; to go on with the older "
                "database, delete leafspan.changes, and run repair()"
            )


def entries(folder: Path) -> list[Path]:
    """Return a folder's entries.

    Raises:
        StorageFailed: if the folder cannot be read.
    """
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise disk_error(error, f"look into {str(folder)!r}") from error


def is_vector_folder(path: Path) -> bool:
    """Whether a path is named like a folder in which Chroma keeps vectors."""
    return _SEGMENT.fullmatch(path.name) is not None


def check_there(folder: Path) -> bool:
    """Whether a folder has a database.

    Raises:
        DamagedIndex: if the database is missing or empty, but the folder has other files of an index; or if a folder is
            where the database belongs.
    """
    path = folder / DATABASE
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no file"
            raise DamagedIndex(f"{str(path)!r} must be an SQLite database, and is {kind}: {RESTORE}")
        if found.st_size:
            return True
    except FileNotFoundError:
        pass
    except OSError as error:
        raise disk_error(error, f"read {str(path)!r}") from error
    if remains := _remains(folder):
        state = "is empty" if path.exists() else "is missing"
        raise DamagedIndex(f"{str(path)!r} {state}, though the folder has {remains} of an index: {RESTORE}")
    return False


def _is_older(count: int, than: int) -> bool:
    """Whether one count of a database's changes is before another count. Counts start again after 2**32."""
    return 0 < (than - count) % 2**32 < 2**31


def _remains(folder: Path) -> str:
    """Return what a folder still has of an index, or an empty text."""
    if not folder.is_dir():
        return ""
    if any((folder / name).is_dir() and entries(folder / name) for name in ("leafspan.vectors", "leafspan.segments")):
        return "copies"
    if any(is_vector_folder(each) and each.is_dir() for each in entries(folder)):
        return "vectors"
    try:
        numbers = (folder / "leafspan.changes").read_bytes()
    except OSError:
        return ""
    # Version 0.1.0 counted from 0. Later versions store the database's own count in the fourth number.
    counted = numbers[:8] if len(numbers) < 32 else numbers[24:32]
    return "the count of changes" if any(counted) else ""


def _has_journal(path: Path) -> bool:
    """Whether SQLite was interrupted, and will repair the file when it opens it."""
    journals = (path.with_name(path.name + suffix) for suffix in ("-journal", "-wal"))
    return any(journal.exists() and journal.stat().st_size for journal in journals)
