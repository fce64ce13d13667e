"""Files of a folder that processes share: descriptors, locks, a counter of changes, and the disk's errors."""

from leafspan.engines.local._change_file import ChangeFile
from leafspan.engines.local._descriptors import NO_FOLLOW, OpenFile, open_file
from leafspan.engines.local._disk_errors import disk_error
from leafspan.engines.local._file_lock import FileLock
from leafspan.engines.local._open_files import check_not_too_many
from leafspan.engines.local._waiting import WAITS, deadline_after, held, wait_for_lock

__all__ = [
    "NO_FOLLOW",
    "WAITS",
    "ChangeFile",
    "FileLock",
    "OpenFile",
    "check_not_too_many",
    "deadline_after",
    "disk_error",
    "held",
    "open_file",
    "wait_for_lock",
]
