"""Flows that run aside of an event loop, in threads: what they compute does not hold it up."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from leafspan.flows._call import Call, Flow
from leafspan.flows._deadline import stop_flow
from leafspan.flows._threads import CORES, in_thread


@dataclass(frozen=True, slots=True)
class Returned:
    """A flow is done. A StopIteration cannot be passed from a thread to an event loop.

    Attributes:
        value: What it has returned.
    """

    value: Any


class Aside:
    """A flow that goes on in a thread until it asks for something to be waited for, and then in another one.

    Calls that only compute are made in the same thread.
    """

    def __init__(self, flow: Flow[Any]) -> None:
        self._flow = flow
        self._context = contextvars.copy_context()
        self._is_given_up = False

    async def advance(self, answer: Any, failure: BaseException | None) -> Call | Sequence[Call] | Returned:
        """What the flow asks for next, after an answer or a failure, or that it is done.

        If the task is cancelled meanwhile, the flow goes no further than the call that it is in, and lets go of what it
        holds.
        """
        future: Future[Any] | None = None
        try:
            async with _cores_of_loop():
                future = in_thread(self._context.run, self._advance, answer, failure)
                return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._is_given_up = True
            if future is None:
                self._stop()
            else:
                future.add_done_callback(self._stop)
            raise
        finally:
            future = failure = None  # an error of theirs knows this frame: see below

    def _advance(self, answer: Any, failure: BaseException | None) -> Call | Sequence[Call] | Returned:
        try:
            while True:
                try:
                    request = self._flow.throw(failure) if failure else self._flow.send(answer)
                except StopIteration as stop:
                    return Returned(stop.value)
                answer = failure = None
                if not isinstance(request, Call) or not request.computes:
                    return request
                assert request.function is not None
                try:
                    answer = request.function(*request.arguments, **request.options)
                except BaseException as error:
                    failure = error
                if self._is_given_up:
                    return request  # which nobody looks at
        finally:
            failure = None  # it knows this frame, and together they would keep what it was about until garbage is collected

    def _stop(self, _: Future[Any] | None = None) -> None:
        self._context.run(stop_flow, self._flow)


_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def _cores_of_loop() -> asyncio.Semaphore:
    """What limits the threads that compute for an event loop: with more of them than cores, it waits for its turn."""
    loop = asyncio.get_running_loop()
    found = _semaphores.get(loop)
    if found is None:
        found = _semaphores[loop] = asyncio.Semaphore(CORES)
    return found
