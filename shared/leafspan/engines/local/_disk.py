"""Small files that stay open: opened without following links, and read and written at an offset."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
import weakref
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


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_FULL_WORDS = ("disk is full", "No space left", "disk I/O error")
_LITTLE = 4 << 20  # bytes: SQLite and Chroma need some space for each write
_READ_ONLY_WORDS = ("readonly database", "read-only", "Permission denied", "unable to open database file")


def disk_error(error: OSError, doing: str) -> StorageFailed:
    """Return the error to raise for an operating system's error."""
    words = error.strerror or str(error)
    if explained := too_many_files(error, doing):
        return explained
    if error.errno in _FULL:
        return StorageFull(f"cannot {doing}: {words}; make space on that disk, then try again")
    if error.errno in _READ_ONLY:
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
    if any(each in words for each in _READ_ONLY_WORDS):
        return StorageReadOnly(f"cannot {doing} in {str(path)!r}: {words}; see who may write there, and how it is mounted")
    free = _free(path)
    if any(each in words for each in _FULL_WORDS) or (free is not None and free <= max(needed, _LITTLE)):
        left = "" if free is None else f" ({free:,} bytes are free)"
        full = f"the disk is full, or nearly so{left}; make space, then try again"
        return StorageFull(f"cannot {doing} in {str(path)!r}: {full}: {words}")
    return None


def _free(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


_WORDS = ("too many open files", "code: 24,")
_WORDS_PERHAPS = ("unable to open database file", "(code: 14)")  # of SQLite, which does not say why
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
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return True
    words = str(error).lower()
    return any(each in words for each in _WORDS) or (any(each in words for each in _WORDS_PERHAPS) and _are_few_left())


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
