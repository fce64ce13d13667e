"""Waits for another source's answer in a thread, for a limited time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any, TypeVar

from leafspan.errors import SourceTimeout
from leafspan.flows import in_own_thread

T = TypeVar("T")


def call_within(seconds: float, name: str, function: Callable[..., T], *arguments: Any) -> T:
    """The result of ``function(*arguments)``. Blocks for ``seconds`` at most.

    A late function goes on in its thread, and its result is dropped. The thread keeps no process alive.
    """
    future = in_own_thread(f"leafspan: {name}", function, *arguments)
    if not wait([future], seconds).done:
        raise late(name, seconds)
    return future.result()


async def acall_within(seconds: float, name: str, function: Callable[..., T], *arguments: Any) -> T:
    """Like ``call_within``, without blocking the event loop."""
    future = in_own_thread(f"leafspan: {name}", function, *arguments)
    # Not asyncio.to_thread: a hanging thread of its pool keeps asyncio.run from ending.
    answer = asyncio.wrap_future(future)
    try:
        done, _ = await asyncio.wait([answer], timeout=seconds)
        if not done:
            raise late(name, seconds)
        return answer.result()
    finally:
        # Late or cancelled work must not report its end: the loop may be closed by then.
        answer.cancel()


def late(name: str, seconds: float) -> SourceTimeout:
    """The error for work that did not answer in time."""
    return SourceTimeout(
        f"{name} must answer within {seconds:g} seconds, and has not: check whether it runs, or raise timeout"
    )
