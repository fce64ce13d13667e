"""Runs work that may hang, such as a server request, in its own thread, and waits only for the allowed time."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from leafspan.errors import SourceTimeout

T = TypeVar("T")


def call_within(seconds: float, name: str, function: Callable[..., T], *arguments: Any) -> T:
    """The result of ``function(*arguments)``. Blocks for ``seconds`` at most.

    A late function goes on in its thread, and its result is dropped. The thread keeps no process alive.
    """
    future = _started(name, function, arguments)
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():  # raised by the function itself
            raise
        raise late(name, seconds) from None


async def acall_within(seconds: float, name: str, function: Callable[..., T], *arguments: Any) -> T:
    """Like ``call_within``, without blocking the event loop."""
    future = _started(name, function, arguments)
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


def _started(name: str, function: Callable[..., T], arguments: tuple[Any, ...]) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # so that it cannot be cancelled before the thread sets its result

    def work() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # the waiting caller raises it
            future.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name=f"leafspan: {name}", daemon=True).start()
    return future
