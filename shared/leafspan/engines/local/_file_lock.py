"""A lock that processes share through a file. The operating system releases it when the process ends, even after a kill."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from leafspan.engines.local._disk import NO_FOLLOW, disk_error, open_file
from leafspan.errors import StorageFailed, WriterBusy
from leafspan.flows import METRICS, Call, Flow, instrument

_LOCK_POLL_SECONDS = 0.005  # short enough to acquire the lock between two calls of a writer


class FileLock:
    """A lock that one thread of one process holds at a time.

    A forked process does not hold its parent's lock, and cannot release it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: tuple[int, int] | None = None  # descriptor, and the process that acquired it
        self._fallback: Any = None

    @property
    def is_locked(self) -> bool:
        """Whether this object holds the lock, in this process."""
        return self._held is not None and self._held[1] == os.getpid()

    @property
    def is_intact(self) -> bool:
        """Whether the file still exists. If it was deleted, another process may hold a lock on a new one."""
        held = self._held if self.is_locked else None
        return held is not None and (self._fallback is not None or _is_at(held[0], self.path))

    def try_acquire(self) -> bool:
        try:
            import fcntl
        except ImportError:
            return self._try_fallback()
        descriptor = self._open()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, self.path):  # otherwise it was deleted meanwhile, and another process may lock a new file
                self._held, descriptor = (descriptor, os.getpid()), -1
                return True
        except BlockingIOError:
            pass
        except OSError as error:
            raise disk_error(error, f"lock {str(self.path)!r}") from error
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return False

    def acquire(self, deadline: float) -> bool:
        """Acquire the lock by the deadline, in seconds of ``time.monotonic``. Return whether that succeeded."""
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOCK_POLL_SECONDS)
        return True

    def release(self) -> None:
        """Release the lock, if this object holds it."""
        held, self._held = self._held, None
        if self._fallback is not None:
            self._fallback.release()
        # A forked process only closes its copy of the descriptor: unlocking would unlock it for the parent, too.
        if held is not None and held[0] >= 0:
            with suppress(OSError):
                os.close(held[0])

    def holder(self) -> str:
        """Name the lock's holder for an error: ``" (process 1234)"``, or an empty text if unknown."""
        with suppress(OSError, ValueError, IndexError):
            own = os.stat(self.path)
            place = f"{os.major(own.st_dev):02x}:{os.minor(own.st_dev):02x}:{own.st_ino}"
            for line in Path("/proc/locks").read_text().splitlines():
                words = line.split()
                if words[1] == "FLOCK" and words[5] == place and int(words[4]) > 0:
                    own_process = int(words[4]) == os.getpid()
                    return f" ({'this process' if own_process else f'process {words[4]}'})"
        return ""

    def _open(self) -> int:
        try:
            return open_file(self.path, os.O_RDWR | os.O_CREAT | NO_FOLLOW)
        except FileNotFoundError as error:
            raise StorageFailed(f"cannot make {str(self.path)!r}: its folder is gone") from error
        except OSError as error:
            raise disk_error(error, f"open {str(self.path)!r}") from error

    def _try_fallback(self) -> bool:
        """Try to acquire the lock on a system without ``flock``."""
        import filelock

        lock = filelock.FileLock(self.path, thread_local=False)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        self._fallback, self._held = lock, (-1, os.getpid())
        return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False


WAITS = "leafspan.waits"  # the logger that reports a wait for another writer, as INFO

_logger = logging.getLogger(WAITS)

_POLL_SECONDS = 0.02  # and a twentieth of a long wait, up to .2: many waiters must leave the holder its time
_SILENT_SECONDS = 1.0  # shorter waits are not reported
_LEAST_SECONDS = 0.5  # a timeout of 0 is for other writers; a process that opens the files needs a moment, too


def wait_for_lock(
    try_acquire: Callable[[], bool], timeout: float, what: str, *, holder: Callable[[], str] = lambda: ""
) -> Flow[None]:
    """Try to acquire a lock again and again until that succeeds. After a second, log the wait to ``leafspan.waits``.

    No thread blocks meanwhile. In an event loop, blocked threads could use up the pool that the lock's holder needs.
    """
    began = time.monotonic()
    deadline, is_told = began + timeout, False
    try:
        while not (yield Call(try_acquire, finish=True)):
            if time.monotonic() >= deadline:
                raise WriterBusy(
                    f"another writer{holder()} has held {what} for more than the timeout of {timeout:g} seconds: wait for "
                    "it, or open the index with a longer timeout; if it was stopped or hangs, end it"
                )
            if not is_told and time.monotonic() >= began + _SILENT_SECONDS:
                is_told = True
                _logger.info("another writer%s holds %s; waiting for it, up to %g seconds", holder(), what, timeout)
            yield Call(time.sleep, (max(_POLL_SECONDS, min(0.05 * (time.monotonic() - began), 0.2)),), native=asyncio.sleep)
    finally:
        if METRICS in sys.modules:
            instrument("leafspan.lock.wait")(time.monotonic() - began)


def deadline_after(timeout: float) -> float:
    """Return when a wait of ``timeout`` seconds, but at least half a second, ends: in seconds of ``time.monotonic``."""
    return time.monotonic() + max(float(timeout), _LEAST_SECONDS)  # locks do not accept numbers of numpy


@contextmanager
def held(mutex: threading.Lock, deadline: float, what: str) -> Iterator[None]:
    """A context that holds a mutex of this process."""
    if not mutex.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise WriterBusy(f"another thread is still {what} after the timeout: try again")
    try:
        yield
    finally:
        mutex.release()
