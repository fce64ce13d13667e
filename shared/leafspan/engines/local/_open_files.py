"""Too many open files: the error names the limit, since the file that could not be opened may be intact."""

from __future__ import annotations

import errno
import os

from leafspan.errors import StorageFailed

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
    """Call it before treating a file that cannot be opened as lost or damaged.

    Raises:
        StorageFailed: if the process has reached its limit of open files.
    """
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
