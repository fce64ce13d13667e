"""Small files that stay open: opened without following links, and read and written at an offset."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

from leafspan.errors import StorageFailed, StorageFull, StorageReadOnly

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for ``os.open`` that refuse a link, where the system can."""

_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a FIFO would wait for its other end
_mutex = threading.Lock()  # for systems where reading at an offset takes two steps


def open_file(path: str | Path, flags: int) -> int:
    """Open a regular file with these flags of ``os.open``, and return its descriptor."""
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
    if hasattr(os, "pwrite"):
        os.pwrite(descriptor, content, place)
        return
    with _mutex:
        os.lseek(descriptor, place, os.SEEK_SET)
        os.write(descriptor, content)


_CANNOT_OPEN = ("unable to open database file", "(code: 14)")  # SQLite does not say why
_LITTLE = 4 << 20  # bytes: SQLite and Chroma need some space for each write


def is_full(error: BaseException) -> bool:
    """Whether an error of the system, SQLite or Chroma means that a disk is full."""
    words = ("disk is full", "no space left", "disk quota exceeded", "(code: 13)")
    return _is_one_of(error, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), (sqlite3.SQLITE_FULL,), words)


def is_read_only(error: BaseException) -> bool:
    """Whether an error of the system, SQLite or Chroma means that this process may not write."""
    codes = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
    words = ("readonly database", "read-only", "permission denied", "(code: 8)", *_CANNOT_OPEN)
    return _is_one_of(error, (errno.EROFS, errno.EACCES, errno.EPERM), codes, words)


def _is_one_of(error: BaseException, numbers: Sequence[int], codes: Sequence[int], words: Sequence[str]) -> bool:
    """Whether an error has one of the system's numbers, SQLite's codes, or words: most errors of Chroma have only words."""
    if isinstance(error, OSError) and error.errno in numbers:
        return True
    text = " ".join(str(error).lower().split())
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in codes or any(each in text for each in words)


def disk_error(error: OSError, doing: str) -> StorageFailed:
    words = error.strerror or str(error)
    if explained := too_many_files(error, doing):
        return explained
    if is_full(error):
        return StorageFull(f"cannot {doing}: {words}; make space on that disk, then try again")
    if is_read_only(error):
        return StorageReadOnly(f"cannot {doing}: {words}; see who may read and write there, and how it is mounted")
    if error.errno == errno.ELOOP:
        return StorageFailed(f"cannot {doing}: it is a link, which is not followed; put the file itself there")
    if error.errno == errno.EISDIR:
        return StorageFailed(f"cannot {doing}: it is a folder; move it away, since a file belongs there")
    return StorageFailed(f"cannot {doing}: {words}")


def chroma_disk_error(error: BaseException, doing: str, path: Path, needed: int) -> StorageFailed | None:
    """Return the error to raise if a full or read-only disk explains Chroma's failure, or None for other failures."""
    if isinstance(error, StorageFailed):
        return None
    if isinstance(error, OSError):
        return disk_error(error, doing)
    if explained := too_many_files(error, f"{doing} in {str(path)!r}"):
        return explained
    words = " ".join(str(error).split())
    if is_read_only(error):
        return StorageReadOnly(f"cannot {doing} in {str(path)!r}: {words}; see who may write there, and how it is mounted")
    free = _free(path)
    if is_full(error) or "disk I/O error" in words or (free is not None and free <= max(needed, _LITTLE)):
        left = "" if free is None else f" ({free:,} bytes are free)"
        full = f"the disk is full, or nearly so{left}; make space, then try again"
        return StorageFull(f"cannot {doing} in {str(path)!r}: {full}: {words}")
    return None


def _free(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


_SOME = 16  # descriptors: Chroma and SQLite need some for every operation


def too_many_files(error: BaseException, doing: str) -> StorageFailed | None:
    """Return the error to raise if no more files can be opened, or None for other errors."""
    if isinstance(error, StorageFailed) or not _says_so(error):
        return None
    if getattr(error, "errno", None) == errno.ENFILE:
        return StorageFailed(f"cannot {doing}: the system has as many files open as it may have; close some, and try again")
    limit = _limit()
    most = "" if limit is None else f" ({limit:,})"
    remedy = "raise the limit (`ulimit -n`), or close indexes and files that are not needed"
    return StorageFailed(f"cannot {doing}: this process has as many files open as it may have{most}; {remedy}")


def check_not_too_many(error: BaseException, doing: str) -> None:
    """Call it before treating a file that cannot be opened as lost or damaged."""
    if isinstance(error, StorageFailed):
        raise error
    if explained := too_many_files(error, doing):
        raise explained from error


def _says_so(error: BaseException) -> bool:
    if _is_one_of(error, (errno.EMFILE, errno.ENFILE), (), ("too many open files", "code: 24,")):
        return True
    return _is_one_of(error, (), (), _CANNOT_OPEN) and _are_few_left()


def _limit() -> int | None:
    """Return the process's limit of open files, or None if the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _are_few_left() -> bool:
    """Whether hardly any more files can be opened."""
    try:
        limit = _limit()
        return limit is not None and len(os.listdir("/dev/fd")) + _SOME > limit
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
