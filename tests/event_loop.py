"""Whether an event loop keeps running while a function works, however slow the machine is."""

from __future__ import annotations

import asyncio
import threading

_PATIENCE = 30  # seconds


def wait_for_the_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Come back once the event loop has done something else. A function that the loop itself waits for never does.

    Raises:
        AssertionError: if the loop stands still.
    """
    went_on = threading.Event()
    loop.call_soon_threadsafe(went_on.set)
    assert went_on.wait(_PATIENCE), "the event loop stands still while a function is at work"
