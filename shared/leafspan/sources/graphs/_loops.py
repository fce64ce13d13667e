"""Asking a LightRAG in the event loop that it lives in, from any thread and any loop.

A LightRAG belongs to the event loop in which its storages were opened: its locks, and the workers that call its language
model and its embedder, are there. So work on it has to be done there as well:

1. If that loop runs, the work is handed to it, from other loops and threads, too. A blocking call from the loop's own
   thread can never be answered, since the loop waits for the call; it is refused.
2. If that loop is open but does not run, as after ``loop.run_until_complete``, the work is run in it, in a thread, one
   piece after the other.
3. If it is closed, as after ``asyncio.run(open_it())``, the work is refused. In another loop, LightRAG's workers lose
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
    """What ``await work(instance)`` gives. Blocks for ``timeout`` seconds at most.

    Raises:
        InvalidArgument: if it is called in the event loop that the instance lives in.
        SourceTimeout: if the time is over.
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
        # The loop itself can be blocked, so that its own timeout never comes.
        return future.result(timeout + _GRACE)
    except TimeoutError:
        if future.done():
            raise
        future.cancel()
        raise late(_NAME, timeout) from None


async def awork_on(home: asyncio.AbstractEventLoop, instance: Any, work: Work[T], timeout: float) -> T:
    """Like ``work_on``, from any event loop, and without blocking it.

    Raises:
        SourceTimeout: if the time is over.
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


_GRACE = 0.2  # seconds that a timeout inside a loop may need to be seen outside


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
    """Runs in a thread without a loop. The caller has its own limit, as the work may block the loop."""
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
