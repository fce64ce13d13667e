"""Turns errors of the operating system, and of Chroma on a full or read-only disk, into leafspan's errors."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from leafspan.engines.local._open_files import too_many_files
from leafspan.errors import StorageFailed, StorageFull, StorageReadOnly

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
