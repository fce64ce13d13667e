"""Runs flows in threads beside an event loop, so that their computing does not block the loop."""

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
    """The end of a flow, since a thread cannot pass a StopIteration to an event loop."""

    value: Any  # the flow's return value


class Aside:
    """A flow that runs in a thread until it needs to wait, and then goes on in another thread.

    Calls that only compute run in the same thread.
    """

    def __init__(self, flow: Flow[Any]) -> None:
        self._flow = flow
        self._context = contextvars.copy_context()
        self._is_given_up = False

    async def advance(self, answer: Any, failure: BaseException | None) -> Call | Sequence[Call] | Returned:
        """The flow's next request after an answer or a failure, or its end.

        If the task is cancelled meanwhile, the flow stops after its current call, and releases what it holds.
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
            future = failure = None  # their errors refer to this frame: see below

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
                    return request  # dropped by the caller
        finally:
            failure = None  # breaks the reference cycle of the error and this frame

    def _stop(self, _: Future[Any] | None = None) -> None:
        self._context.run(stop_flow, self._flow)


_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def _cores_of_loop() -> asyncio.Semaphore:
    """Limits computing threads of an event loop: with more threads than cores, the loop waits for its turn."""
    loop = asyncio.get_running_loop()
    found = _semaphores.get(loop)
    if found is None:
        found = _semaphores[loop] = asyncio.Semaphore(CORES)
    return found
