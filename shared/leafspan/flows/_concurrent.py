"""Runs flows and functions at the same time, and within time limits."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import suppress
from math import inf
from typing import Any, NamedTuple, TypeVar

from leafspan.flows._flow import Call, Deadline, Flow, arun, current_deadline, run
from leafspan.flows._threads import in_own_thread, in_spare_thread, in_thread

T = TypeVar("T")

_GRACE = 0.5  # seconds for a cancelled task to release what it holds


def run_together(flows: Sequence[Flow[Any]]) -> Call:
    """A call that runs flows at the same time; its result is a list with the result or the Exception of each.

    It is for leafspan's own work that is short or rare, and uses threads that stay for later calls. Flows without a free
    thread run in the caller's thread, and then the last flow does. So calls can nest: no thread waits for a flow that has
    not started, and a flow never waits for the flow that runs it. The last flow may wait for the others, as for a
    ``HeadStart``. A cancelled task waits until each flow has released what it holds, such as a lock.
    """
    return Call(_run_in_spare_threads, (flows,), native=_arun_together, what="")


def run_concurrently(flows: Sequence[Flow[Any]], timeouts: Sequence[float | None]) -> Call:
    """A call that runs flows at the same time; its result is a list with the result or the Exception of each.

    A flow that takes longer than its timeout (in seconds, None for no limit) has a TimeoutError as its result.

    ``run`` uses a thread for each flow, with the context variables of the caller. A late flow goes on in its thread, and
    its result is dropped. ``arun`` uses a task for each flow, and cancels it when it is late or when the caller is
    cancelled; a thread that such a task waits for goes on. A single flow without a timeout runs in the caller's thread.
    A KeyboardInterrupt, SystemExit or CancelledError is raised at once.
    """
    limited = [_Limited(flow, timeout) for flow, timeout in zip(flows, timeouts, strict=True)]
    return Call(_run_in_own_threads, (limited,), native=_arun_limited, what="")


class _Limited(NamedTuple):
    """A flow, and the seconds it may take."""

    flow: Flow[Any]
    timeout: float | None

    @property
    def late(self) -> TimeoutError:
        """The error as the result of a late flow."""
        return TimeoutError(f"not done after {self.timeout:g} seconds")


def _run_in_own_threads(flows: Sequence[_Limited]) -> list[Any]:
    if len(flows) == 1 and flows[0].timeout is None:
        return [_outcome(flows[0].flow)]
    outer = current_deadline.get()
    start = time.monotonic()
    ends = [inf if each.timeout is None else start + each.timeout for each in flows]
    running = {
        in_own_thread(f"leafspan flow {number + 1}", _outcome, each.flow): number for number, each in enumerate(flows)
    }
    results: dict[int, Any] = {}
    while running:
        seconds = min(ends[number] for number in running.values()) - time.monotonic()
        seconds = max(0.0, seconds if outer is None else min(seconds, outer.left))
        done, _ = wait(running, None if seconds == inf else seconds, FIRST_COMPLETED)
        for future in done:
            results[running.pop(future)] = future.result()
        if done:
            continue
        if outer is not None and outer.is_over:
            raise outer.error()
        now = time.monotonic()
        late = {future: number for future, number in running.items() if ends[number] <= now}
        for future, number in late.items():
            results[number] = flows[number].late
            del running[future]
    return [results[number] for number in range(len(flows))]


def _run_in_spare_threads(flows: Sequence[Flow[Any]]) -> list[Any]:
    *others, own = flows
    started = [in_spare_thread(_outcome, flow) for flow in others]
    try:
        outcomes = [_outcome(flow) if future is None else None for flow, future in zip(others, started, strict=True)]
        outcomes.append(_outcome(own))
        return [future.result() if future else each for each, future in zip(outcomes, [*started, None], strict=True)]
    finally:
        wait([future for future in started if future is not None])


async def _arun_together(flows: Sequence[Flow[Any]]) -> list[Any]:  # cancelling ends all flows
    tasks = [asyncio.ensure_future(_aoutcome(_Limited(flow, None))) for flow in flows]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await _cancelled(tasks)


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until all have ended, even if the caller is cancelled again. gather would wait for one only."""
    for task in tasks:
        task.cancel()
    while running := [task for task in tasks if not task.done()]:
        with suppress(asyncio.CancelledError):
            await asyncio.wait(running)


def _outcome(flow: Flow[Any]) -> Any:
    """The flow's result, or the Exception that ended it."""
    try:
        return run(flow, current_deadline.get())
    except Exception as error:
        return error


async def _arun_limited(flows: Sequence[_Limited]) -> list[Any]:
    tasks = [asyncio.ensure_future(_aoutcome(each)) for each in flows]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _aoutcome(limited: _Limited) -> Any:
    limit = asyncio.timeout(limited.timeout)
    try:
        async with limit:
            return await arun(limited.flow, current_deadline.get())
    except Exception as error:
        # The flow may have raised a TimeoutError itself.
        return limited.late if limit.expired() and isinstance(error, TimeoutError) else error


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
        raise deadline.error() from None
    finally:  # also after Ctrl-C during the wait
        deadline.stop()


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
        if not done:
            raise deadline.error()
        return task.result()
    except BaseException:
        await _let_go(task, deadline)
        raise


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
