"""Files of a folder that processes share: descriptors, locks, a counter of changes, and the disk's errors."""

from leafspan.engines.local._change_file import ChangeFile
from leafspan.engines.local._disk import NO_FOLLOW, check_not_too_many, chroma_disk_error, disk_error, open_file
from leafspan.engines.local._file_lock import WAITS, FileLock, deadline_after, held, wait_for_lock

__all__ = [
    "NO_FOLLOW",
    "WAITS",
    "ChangeFile",
    "FileLock",
    "check_not_too_many",
    "chroma_disk_error",
    "deadline_after",
    "disk_error",
    "held",
    "open_file",
    "wait_for_lock",
]
