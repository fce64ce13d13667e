"""Waiting for one's turn to write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from leafspan.engine import Call, Flow
from leafspan.errors import WriterBusy

_POLL_SECONDS = 0.02


def wait_for_turn(take: Callable[[], bool], timeout: float, what: str) -> Flow[None]:
    """Ask for the turn until it is given.

    No thread waits: in an event loop, the threads that would wait may be all that the writer in front could go on with.

    Raises:
        WriterBusy: if it is not given within ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    while not (yield Call(take, finish=True)):
        if time.monotonic() >= deadline:
            raise WriterBusy(f"another writer has held {what} for more than the timeout of {timeout:g} seconds")
        yield Call(time.sleep, (_POLL_SECONDS,), native=asyncio.sleep)
