"""Asks a LightRAG in its event loop, from any thread and any loop.

A LightRAG belongs to the event loop in which its storages were opened. Its locks, and the workers that call its language
model and its embedder, are in that loop. So the work must run there:

1. If that loop runs, it gets the work, also from other loops and threads. A blocking call from the loop's own thread is
   refused, since the loop would wait for the call, and the call for the loop.
2. If that loop is open but does not run, as after ``loop.run_until_complete``, a thread runs the work in it, one piece
   after the other.
3. If it is closed, as after ``asyncio.run(open_it())``, the work is refused: in another loop, LightRAG's workers lose
   questions now and then, and never answer.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from leafspan.errors import InvalidArgument
from leafspan.flows import acall_within, call_within, late

T = TypeVar("T")
Work = Callable[[Any], Awaitable[T]]

_NAME = "LightRAG"


def work_on(home: asyncio.AbstractEventLoop, instance: Any, work: Work[T], timeout: float) -> T:
    """Return the result of ``await work(instance)``. Blocks for at most ``timeout`` seconds.

    Raises:
        InvalidArgument: if it is called in the instance's own event loop.
        SourceTimeout: if the work takes longer.
    """
    if not home.is_running():
        answer: T = call_within(timeout, _NAME, _work_in, home, instance, work, timeout)
        return answer
    if home is _running_loop():
        raise InvalidArgument(
            "instance must not live in the event loop that waits for this call, since neither could go on: use the "
            "asynchronous method (aretrieve, aretrieve_data, ainvoke), or make the LightRAG in a LightRAGThread"
        )
    future = asyncio.run_coroutine_threadsafe(_within(work, instance, timeout), home)
    try:
        # The work may block the loop itself; then the loop's own timeout never comes.
        return future.result(timeout + _GRACE)
    except TimeoutError:
        if future.done():
            raise
        future.cancel()
        raise late(_NAME, timeout) from None


async def awork_on(home: asyncio.AbstractEventLoop, instance: Any, work: Work[T], timeout: float) -> T:
    """Like ``work_on``, from any event loop, and without blocking it.

    Raises:
        SourceTimeout: if the work takes longer.
    """
    if not home.is_running():
        return await acall_within(timeout, _NAME, _work_in, home, instance, work, timeout)
    if home is asyncio.get_running_loop():
        return await _within(work, instance, timeout)
    future = asyncio.run_coroutine_threadsafe(_within(work, instance, timeout), home)
    wrapped = asyncio.wrap_future(future)
    try:
        done, _ = await asyncio.wait([wrapped], timeout=timeout + _GRACE)
    except asyncio.CancelledError:
        future.cancel()
        raise
    if not done:
        future.cancel()
        raise late(_NAME, timeout)
    return wrapped.result()


_GRACE = 0.2  # seconds for a timeout inside a loop to arrive outside


async def _within(work: Work[T], instance: Any, timeout: float) -> T:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await work(instance)
    except TimeoutError:
        if limit.expired():
            raise late(_NAME, timeout) from None
        raise


def _work_in(home: asyncio.AbstractEventLoop, instance: Any, work: Work[T], timeout: float) -> T:
    """Run the work in a thread without a loop. The caller has its own limit, since the work may block the loop."""
    lock = _lock_of(home)
    if not lock.acquire(timeout=timeout):
        raise late(_NAME, timeout)
    try:
        return home.run_until_complete(_within(work, instance, timeout))
    finally:
        lock.release()


_locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, threading.Lock] = weakref.WeakKeyDictionary()


def _lock_of(loop: asyncio.AbstractEventLoop) -> threading.Lock:
    return _locks.setdefault(loop, threading.Lock())


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
