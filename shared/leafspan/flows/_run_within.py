"""Runs flows with a time limit: the caller gets an error when the time is over, even if the flow still waits."""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import suppress
from typing import TypeVar

from leafspan.flows._call import Flow
from leafspan.flows._deadline import Deadline, current_deadline
from leafspan.flows._flow import arun, run
from leafspan.flows._threads import in_thread

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
