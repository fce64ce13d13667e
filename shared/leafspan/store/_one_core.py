"""One core for all threads of a process, for as long as something lasts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

_THREADS = Path("/proc/self/task")
_STATE = Path("/proc/thread-self/stat")
_CORE = 36  # the core that a thread runs on, of what is in its state after its name


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep all threads of this process on the core that this one runs on; then let them go where they were allowed to.

    Chroma writes in one thread after another: what it does, statement by statement, is handed to SQLite's thread, and the
    answer handed back. On different cores each of these wakes a core that has gone to sleep meanwhile, which takes longer
    than the statement.

    Where the system does not say which core that is, nothing is done.
    """
    core, allowed = _core(), _allowed()
    if core not in allowed or len(allowed) == 1:
        yield
        return
    _keep_on({core})
    try:
        yield
    finally:
        _keep_on(allowed)


def _core() -> int:
    """The core that this thread runs on; -1 if the system does not say so."""
    with suppress(OSError, ValueError, IndexError):
        return int(_STATE.read_text().rpartition(")")[2].split()[_CORE])
    return -1


def _allowed() -> Set[int]:
    """The cores that this thread may run on; none if the system does not say so."""
    with suppress(OSError, AttributeError):
        return os.sched_getaffinity(0)
    return set()


def _keep_on(cores: Set[int]) -> None:
    for thread in os.listdir(_THREADS):
        with suppress(OSError):  # it has ended, or may not be moved
            os.sched_setaffinity(int(thread), cores)
