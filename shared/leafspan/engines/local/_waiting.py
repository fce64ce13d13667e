"""Waiting for locks, no longer than a timeout."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leafspan.errors import WriterBusy
from leafspan.flows import Call, Flow

WAITS = "leafspan.waits"
"""The logger that reports a wait for another writer, as INFO."""

_logger = logging.getLogger(WAITS)

_POLL_SECONDS = 0.02
_SILENT_SECONDS = 1.0  # shorter waits are not reported
_LEAST_SECONDS = 0.5  # a timeout of 0 is for other writers; a process that opens the files needs a moment, too


def wait_for_lock(
    try_acquire: Callable[[], bool], timeout: float, what: str, *, holder: Callable[[], str] = lambda: ""
) -> Flow[None]:
    """Try to acquire a lock again and again until that succeeds. After a second, log the wait to ``leafspan.waits``.

    No thread blocks meanwhile. In an event loop, blocked threads could use up the pool that the lock's holder needs.

    Raises:
        WriterBusy: if the lock is not free within ``timeout`` seconds.
    """
    began = time.monotonic()
    deadline, is_told = began + timeout, False
    while not (yield Call(try_acquire, finish=True)):
        if time.monotonic() >= deadline:
            raise WriterBusy(
                f"another writer{holder()} has held {what} for more than the timeout of {timeout:g} seconds: wait for it, "
                "or open the index with a longer timeout; if it was stopped or hangs, end it"
            )
        if not is_told and time.monotonic() >= began + _SILENT_SECONDS:
            is_told = True
            _logger.info("another writer%s holds %s; waiting for it, up to %g seconds", holder(), what, timeout)
        yield Call(time.sleep, (_POLL_SECONDS,), native=asyncio.sleep)


def deadline_after(timeout: float) -> float:
    """Return when a wait of ``timeout`` seconds, but at least half a second, ends: in seconds of ``time.monotonic``."""
    return time.monotonic() + max(float(timeout), _LEAST_SECONDS)  # locks do not accept numbers of numpy


@contextmanager
def held(mutex: threading.Lock, deadline: float, what: str) -> Iterator[None]:
    """A context that holds a mutex of this process.

    Raises:
        WriterBusy: if the mutex is not free by the deadline.
    """
    if not mutex.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise WriterBusy(f"another thread of this process is {what}, and has not done so within the timeout: try later")
    try:
        yield
    finally:
        mutex.release()
