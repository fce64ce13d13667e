"""Time limits: a caller gets an error when its time is over, even if a flow or a function still waits."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from leafspan.errors import SourceTimeout
from leafspan.flows._call import Deadline, Flow, current_deadline
from leafspan.flows._flow import arun, run
from leafspan.flows._threads import in_own_thread, in_thread

T = TypeVar("T")

_GRACE = 0.5  # seconds for a cancelled task to release what it holds


def run_within(flow: Flow[T], seconds: float | None) -> T:
    """The flow's result. Blocks for ``seconds`` at most.

    With a limit, the flow runs in a thread with the context variables of the caller. A late flow stops after its current
    call, and its result is dropped. If this function runs inside another flow's call, the flow also stops when that
    other flow must stop.
    """
    outer = current_deadline.get()
    if seconds is None:
        return run(flow, outer)
    deadline = Deadline(seconds, outer)
    future = in_thread(_run_by, flow, deadline)
    try:
        result: T = future.result(deadline.left)
        return result
    except TimeoutError:
        if future.done():  # raised by the flow itself
            raise
        error = deadline.error()
        deadline.stop()
        raise error from None
    except BaseException:  # Ctrl-C during the wait
        deadline.stop()
        raise


async def arun_within(flow: Flow[T], seconds: float | None) -> T:
    """Like ``run_within``, without blocking the event loop. A late flow is cancelled."""
    if seconds is None:
        return await arun(flow, current_deadline.get(), reads=True)
    deadline = Deadline(seconds, current_deadline.get())
    context = contextvars.copy_context()
    context.run(current_deadline.set, deadline)
    # A separate task, since this coroutine does not wait for a task that ignores its cancellation.
    task = asyncio.create_task(arun(flow, deadline, reads=True), context=context)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
        error = None if done else deadline.error()
    except BaseException:
        await _let_go(task, deadline)
        raise
    if error is None:
        return task.result()
    await _let_go(task, deadline)
    raise error


def _run_by(flow: Flow[T], deadline: Deadline) -> T:
    current_deadline.set(deadline)
    return run(flow, deadline)


_late: set[asyncio.Task[object]] = set()  # keeps the tasks alive, which asyncio does not


async def _let_go(task: asyncio.Task[T], deadline: Deadline) -> None:
    """Cancel an abandoned task without reporting its outcome."""
    deadline.stop()
    _late.add(task)
    task.add_done_callback(_forget)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait([task], timeout=_GRACE)


def _forget(task: asyncio.Task[object]) -> None:
    _late.discard(task)
    if not task.cancelled():
        task.exception()  # read it, or asyncio would report it


def call_within(seconds: float, name: str, function: Callable[..., T], *arguments: Any) -> T:
    """The result of ``function(*arguments)``. Blocks for ``seconds`` at most.

    A late function goes on in its thread, and its result is dropped. The thread keeps no process alive.
    """
    future = in_own_thread(f"leafspan: {name}", function, *arguments)
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():  # raised by the function itself
            raise
        raise late(name, seconds) from None


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
