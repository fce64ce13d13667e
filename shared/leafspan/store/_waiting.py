"""Waiting for the writer's lock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from leafspan.engine import Call, Flow
from leafspan.errors import WriterBusy

_POLL_SECONDS = 0.02


def wait_for_lock(try_acquire: Callable[[], bool], timeout: float, what: str) -> Flow[None]:
    """Try to acquire a lock again and again until that succeeds.

    No thread blocks meanwhile. In an event loop, blocked threads could use up the pool that the writer with the lock needs.

    Args:
        try_acquire: Function that tries to acquire the lock without waiting, and says whether it has.
        timeout: Most seconds to wait.
        what: Name of what is locked, for the error.

    Raises:
        WriterBusy: if the lock is not free within ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    while not (yield Call(try_acquire, finish=True)):
        if time.monotonic() >= deadline:
            raise WriterBusy(f"another writer has held {what} for more than the timeout of {timeout:g} seconds")
        yield Call(time.sleep, (_POLL_SECONDS,), native=asyncio.sleep)
