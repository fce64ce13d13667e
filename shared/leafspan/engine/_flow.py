"""Flows, the calls they yield, and the two drivers that carry them out.

A flow is a generator that does no I/O itself. The protocol between a flow and its driver:

1. The flow yields a ``Call``, or a sequence of calls that do not depend on each other.
2. The driver makes the calls. ``run`` makes them here and now, one after the other; ``arun`` awaits them, those of a
   sequence together, and never blocks the event loop.
3. The driver sends back the result, or a list of results in the order of the calls. If a call failed, it throws the
   error into the flow, at the ``yield`` that asked for it.
4. What the flow returns is the result of ``run`` and ``arun``.

A flow calls another one by ``yield from``. So every algorithm is written once, runs in a plain script and in an event loop,
and can be tested without either. httpx does the same with its ``auth_flow``, psycopg with its ``generators``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from leafspan.errors import LeafspanError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One piece of blocking work: ``function(*arguments, **options)``.

    Args:
        function: What ``run`` calls, and ``arun`` calls in a thread. None if only asyncio can do the work.
        arguments: Its positional arguments.
        options: Its keyword arguments.
        native: A coroutine function with the same arguments, which ``arun`` awaits instead of using a thread.
        finish: Whether a cancelled task waits for the end of the work, such as a write under a lock.
    """

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    native: Callable[..., Any] | None = None
    finish: bool = False


Flow = Generator[Call | Sequence[Call], Any, T]


def run(flow: Flow[T]) -> T:
    """The flow's result. Blocks until it is there."""
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            request = flow.throw(failure) if failure else flow.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer = failure = None
        try:
            answer = _perform(request) if isinstance(request, Call) else [_perform(call) for call in request]
        except BaseException as error:
            failure = error


async def arun(flow: Flow[T]) -> T:
    """The flow's result, without blocking the event loop. Independent calls run together."""
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            request = flow.throw(failure) if failure else flow.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        answer = failure = None
        try:
            if isinstance(request, Call):
                answer = await _aperform(request)
            else:
                answer = await asyncio.gather(*map(_aperform, request))
        except BaseException as error:
            failure = error


def _perform(call: Call) -> Any:
    if call.function is None:
        raise LeafspanError(
            "this index was opened with an asynchronous client: use the methods that start with 'a', such as aretrieve"
        )
    return call.function(*call.arguments, **call.options)


async def _aperform(call: Call) -> Any:
    if call.native is not None:
        awaitable = call.native(*call.arguments, **call.options)
    elif call.function is not None:
        awaitable = asyncio.to_thread(call.function, *call.arguments, **call.options)
    else:
        raise LeafspanError("a call needs a function or a native coroutine function")
    if not call.finish and call.native is not None:
        return await awaitable
    # A thread cannot be cancelled: work marked ``finish`` is waited for, however often the task is cancelled meanwhile.
    work = asyncio.ensure_future(awaitable)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while call.finish and not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise
