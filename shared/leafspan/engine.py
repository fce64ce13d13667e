"""Runs the flows: one blocking driver and one for asyncio.

A flow is a generator that does no I/O itself. It yields calls, one or several that are independent, and is sent their
results. So every algorithm is written once, and runs in a plain script and in an event loop without blocking it.
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
    """One piece of blocking work, ``function(*arguments, **options)``.

    ``native`` is its coroutine function, where it has one: asyncio then awaits it, else runs ``function`` in a thread.
    Where there is no ``function``, only asyncio can do it. ``finish`` marks work that must not be left running behind a
    cancelled task, such as a write under a lock.
    """

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    native: Callable[..., Any] | None = None
    finish: bool = False


Flow = Generator[Call | Sequence[Call], Any, T]


def run(flow: Flow[T]) -> T:
    """The flow's result, blocking."""
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
    """The flow's result, without blocking the event loop; independent calls run together."""
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
    # A thread cannot be cancelled: what must be finished is waited for, however often the task is cancelled meanwhile.
    work = asyncio.ensure_future(awaitable)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while call.finish and not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise
