"""Flows that run beside each other, each for a time of its own at most."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import wait
from typing import Any

from leafspan.engine import Call, Flow, arun, run
from leafspan.workers import workers


def side_by_side(flows: Sequence[Flow[Any]]) -> Call:
    """Like ``together`` without timeouts, but for short work of the package's own: its threads stay for the next time.

    The last flow runs where the caller does, as do those that no thread has begun by then, so flows may nest. It is over
    when all are.
    """
    return Call(_run_side_by_side, (flows,), native=_arun_side_by_side)


def together(flows: Sequence[Flow[Any]], timeouts: Sequence[float | None]) -> Call:
    """A call whose result is a list: for each flow its result, or the Exception that ended it.

    One that is not done after its timeout, in seconds (None: it may take as long as it likes), has a TimeoutError. The
    blocking driver runs each in a thread, with the context variables of the caller; a late one goes on in its thread with
    nobody listening. asyncio runs each as a task, which is cancelled when it is late or the caller is; the thread that
    such a task may wait for goes on too. A single flow without a timeout runs where the caller does. What is no Exception
    (KeyboardInterrupt, SystemExit, CancelledError) is raised as soon as it comes.

    Raises:
        ValueError: if there is not one timeout for each flow.
    """
    legs = list(zip(flows, timeouts, strict=True))
    return Call(_run_all, (legs,), native=_arun_all)


_Leg = tuple[Flow[Any], float | None]


def _run_all(legs: Sequence[_Leg]) -> list[Any]:
    if len(legs) == 1 and legs[0][1] is None:
        return [_outcome(legs[0][0], Exception)]
    done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    start = time.monotonic()
    pending = {}
    for number, (flow, timeout) in enumerate(legs):
        pending[number] = None if timeout is None else start + timeout
        # A context can be entered only once: each thread has a copy of its own.
        context = contextvars.copy_context()
        work = threading.Thread(
            target=context.run, args=(_report, done, number, flow), name=f"leg {number + 1}", daemon=True
        )
        work.start()
    results: dict[int, Any] = {}
    while pending:
        deadlines = [deadline for deadline in pending.values() if deadline is not None]
        try:
            number, result = done.get(timeout=max(0.0, min(deadlines) - time.monotonic()) if deadlines else None)
        except queue.Empty:
            now = time.monotonic()
            for number, deadline in list(pending.items()):
                if deadline is not None and deadline <= now:
                    del pending[number]
                    results[number] = _late(legs[number][1])
            continue
        if isinstance(result, BaseException) and not isinstance(result, Exception):
            raise result
        if number in pending:
            del pending[number]
            results[number] = result
    return [results[number] for number in range(len(legs))]


def _run_side_by_side(flows: Sequence[Flow[Any]]) -> list[Any]:
    *others, own = flows
    begun = [workers().submit(contextvars.copy_context().run, _outcome, flow, Exception) for flow in others]
    try:
        last = _outcome(own, Exception)
        return [
            _outcome(flow, Exception) if future.cancel() else future.result()
            for flow, future in zip(others, begun, strict=True)
        ] + [last]
    finally:
        wait([future for future in begun if not future.cancel()])


async def _arun_side_by_side(flows: Sequence[Flow[Any]]) -> list[Any]:
    return await _arun_all([(flow, None) for flow in flows])


def _report(done: queue.SimpleQueue[tuple[int, Any]], number: int, flow: Flow[Any]) -> None:
    done.put((number, _outcome(flow, BaseException)))


def _outcome(flow: Flow[Any], caught: type[BaseException]) -> Any:
    try:
        return run(flow)
    except caught as error:
        return error


async def _arun_all(legs: Sequence[_Leg]) -> list[Any]:
    tasks = [asyncio.ensure_future(_aoutcome(flow, timeout)) for flow, timeout in legs]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _aoutcome(flow: Flow[Any], timeout: float | None) -> Any:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await arun(flow)
    except Exception as error:
        # The flow may have a TimeoutError of its own.
        return _late(timeout) if limit.expired() and isinstance(error, TimeoutError) else error


def _late(timeout: float | None) -> TimeoutError:
    return TimeoutError(f"not done after {timeout:g} seconds")
