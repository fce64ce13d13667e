"""Flows, the calls they yield, and the two drivers that carry them out.

A flow is a generator that does no I/O itself. The protocol between a flow and its driver:

1. The flow yields a ``Call``, or a sequence of calls that do not depend on each other.
2. The driver makes the calls. ``run`` makes them one after the other in the caller's thread. ``arun`` awaits them (the
   calls of a sequence together) and never blocks the event loop; flows that only read then run in threads.
3. The driver sends back the result, or a list of results in the order of the calls. If a call failed, it throws the
   error into the flow, at the ``yield`` of the call.
4. The flow's return value is the result of ``run`` and ``arun``.
5. After the deadline, the driver makes no further calls. It throws ``Stopped`` into the flow, so that the flow releases
   what it holds; calls that it yields meanwhile are not made. A cancelled task throws its CancelledError.

A flow calls another one by ``yield from``. So every algorithm is written once, runs in a plain script and in an event loop,
and can be tested without either. httpx does the same with its ``auth_flow``, psycopg with its ``generators``.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from inspect import Signature, signature, unwrap
from keyword import iskeyword
from math import inf
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from leafspan.errors import LeafspanError, RetrievalTimeout
from leafspan.flows._threads import CORES, computed, in_thread

P = ParamSpec("P")
T = TypeVar("T")

_MOST_THREADS = 32  # threads that one event loop waits for
_MOST_CLEANUPS = 100  # calls that an abandoned flow may yield during its cleanup


@dataclass(frozen=True, slots=True)
class Call:
    """One piece of blocking work: ``function(*arguments, **options)``."""

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    native: Callable[..., Any] | None = None  # the coroutine function that ``arun`` awaits instead
    finish: bool = False  # whether a cancelled task waits for its end
    what: str | None = None  # its name in errors
    computes: bool = False  # whether it only computes, without waiting

    @property
    def name(self) -> str:
        """What the call waits for; empty if it only waits for other calls or for leafspan's own code."""
        if self.what is not None:
            return self.what
        function = self.function or self.native
        while isinstance(function, partial):
            function = function.func
        if getattr(function, "__module__", "").partition(".")[0] == __name__.partition(".")[0]:
            return ""
        return f"{getattr(function, '__qualname__', type(function).__name__)}()"


Flow = Generator[Call | Sequence[Call], Any, T]


def driver_awaits() -> Call:
    """A call whose result is True if the driver awaits calls, so that an event loop must not block."""
    return Call(lambda: False, native=_true, what="")


async def _true() -> bool:
    return True


class Stopped(BaseException):
    """Raised inside an abandoned flow, so that it releases what it holds. No flow may catch it."""


def stop_flow(flow: Flow[object]) -> None:
    """End an abandoned flow. Calls that it yields during its cleanup are not made."""
    for _ in range(_MOST_CLEANUPS):
        try:
            flow.throw(Stopped())
        except BaseException:
            return


class Deadline:
    __slots__ = ("_at", "_outer", "_seconds", "_waiting")

    def __init__(self, seconds: float, outer: Deadline | None = None) -> None:
        self._at = time.monotonic() + seconds
        self._outer = outer
        self._seconds = seconds
        self._waiting: dict[int, Call | Sequence[Call]] = {}

    @property
    def left(self) -> float:
        """Seconds left, >= 0."""
        left = max(0.0, self._at - time.monotonic())
        return left if self._outer is None else min(left, self._outer.left)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed, or was stopped."""
        return self.left == 0

    def stop(self) -> None:
        """Stop the deadline early, since the caller waits no longer."""
        self._at = -inf

    def waits(self, flow: object, request: Call | Sequence[Call]) -> None:
        """Record what a flow waits for."""
        self._waiting[id(flow)] = request

    def forget(self, flow: object) -> None:
        """Record the end of a flow."""
        self._waiting.pop(id(flow), None)

    def error(self) -> RetrievalTimeout:
        """The error of a late retrieval, which names what it waits for."""
        requests = list(self._waiting.values())
        calls = [call for each in requests for call in ([each] if isinstance(each, Call) else each)]
        names = dict.fromkeys(call.name for call in calls if call.name)
        waits = f"still waits for {' and '.join(names)}" if names else "is still at work"
        return RetrievalTimeout(
            f"a retrieval must be done within its timeout of {self._seconds:g} seconds, and this one {waits}: "
            "ask for less, or raise timeout"
        )


current_deadline: ContextVar[Deadline | None] = ContextVar("leafspan deadline", default=None)
"""The deadline of the retrieval that runs here. Threads and tasks that it starts have it, too."""


def run(flow: Flow[T], deadline: Deadline | None = None) -> T:
    """The flow's result. Blocks until the flow is done."""
    answer: Any = None
    failure: BaseException | None = None
    try:
        while True:
            try:
                request = flow.throw(failure) if failure else flow.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            answer = failure = None
            if deadline is not None:
                deadline.waits(flow, request)
            try:
                if isinstance(request, Call):
                    answer = _perform(request, deadline)
                else:
                    answer = [_perform(call, deadline) for call in request]
            except BaseException as error:
                failure = error
            if deadline is not None and deadline.is_over:
                late = deadline.error()
                stop_flow(flow)
                raise late
    finally:
        failure = None  # breaks the reference cycle of the error and this frame
        if deadline is not None:
            deadline.forget(flow)


async def arun(flow: Flow[T], deadline: Deadline | None = None, *, reads: bool = False) -> T:
    """The flow's result, without blocking the event loop. Independent calls run together."""
    answer: Any = None
    failure: BaseException | None = None
    request: Call | Sequence[Call] | _Returned
    aside = _Aside(flow) if reads else None
    try:
        while True:
            try:
                if aside is None or isinstance(failure, asyncio.CancelledError):
                    request = flow.throw(failure) if failure else flow.send(answer)
                else:
                    request = await aside.advance(answer, failure)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            if isinstance(request, _Returned):
                return request.value  # type: ignore[no-any-return]
            answer = failure = None
            if deadline is not None:
                deadline.waits(flow, request)
            try:
                if isinstance(request, Call):
                    answer = await _aperform(request)
                else:
                    answer = await asyncio.gather(*map(_aperform, request))
            except BaseException as error:
                failure = error
    finally:
        failure = None  # breaks the reference cycle of the error and this frame
        if deadline is not None:
            deadline.forget(flow)


def blocking(method: Callable[P, Flow[T]]) -> Callable[P, T]:
    """A function that blocks until the flow that ``method`` returns is done."""

    @wraps(method)
    def twin(*arguments: P.args, **options: P.kwargs) -> T:
        return run(method(*arguments, **options))

    twin.__signature__ = _of_result(method)  # type: ignore[attr-defined]
    return twin


def awaiting(blocking_twin: Callable[P, T], *, reads: bool = False) -> Callable[P, Coroutine[Any, Any, T]]:
    """The asynchronous twin of a function that ``blocking`` made. Its name starts with ``a``."""
    method: Callable[P, Flow[T]] = blocking_twin.__wrapped__  # type: ignore[attr-defined]

    @wraps(method)
    async def twin(*arguments: P.args, **options: P.kwargs) -> T:
        return await arun(method(*arguments, **options), reads=reads)

    own = method.__name__
    name = f"a_{own}" if iskeyword(f"a{own}") else f"a{own}"
    twin.__name__, twin.__qualname__ = name, f"{method.__qualname__.removesuffix(own)}{name}"
    twin.__doc__ = f"Like ``{own}``."
    twin.__signature__ = _of_result(method)  # type: ignore[attr-defined]
    return twin


def parameters_of(twin: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """A decorator for a function that takes the same parameters as a function or class method that ``blocking`` made."""
    method = unwrap(twin)

    def decorated(function: Callable[..., T]) -> Callable[P, T]:
        function.__wrapped__, function.__signature__ = method, _of_result(method)  # type: ignore[attr-defined]
        return function

    return decorated


def _of_result(method: Callable[..., Flow[Any]]) -> Signature:
    whole = signature(method)
    return whole.replace(return_annotation=str(whole.return_annotation).removeprefix("Flow[").removesuffix("]"))


def _perform(call: Call, deadline: Deadline | None) -> Any:
    if call.function is None:
        raise LeafspanError(
            "this index was opened with an asynchronous client: use the methods that start with 'a', such as aretrieve"
        )
    if deadline is not None and deadline.is_over:
        raise Stopped
    if call.computes:
        return computed(call.function, call.arguments, call.options)
    return call.function(*call.arguments, **call.options)


async def _aperform(call: Call) -> Any:
    if call.native is not None:
        awaitable = call.native(*call.arguments, **call.options)
        if not call.finish:
            return await awaitable
        return await _finished(asyncio.ensure_future(awaitable))
    if call.function is None:
        raise LeafspanError("a call needs a function or a native coroutine function")
    # Not asyncio.to_thread: a hanging thread of its pool keeps asyncio.run from ending, and other threads from starting.
    async with _limits_of_loop()[0]:
        future: Future[Any] = in_thread(partial(call.function, **call.options), *call.arguments)
        answer = asyncio.wrap_future(future)
        try:
            # If the task is cancelled, the awaited future is, too, and the thread's outcome is not reported.
            return await (_finished(answer) if call.finish else answer)
        finally:
            del future, answer  # their error refers to this frame


async def _finished(work: asyncio.Future[T]) -> T:
    """Wait for the end of the work, however often the task is cancelled, and return its result."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # read it, or asyncio would report it
        raise


@dataclass(frozen=True, slots=True)
class _Returned:
    """The end of a flow, since a thread cannot pass a StopIteration to an event loop."""

    value: Any  # the flow's return value


class _Aside:
    """A flow that runs in a thread until it needs to wait, and then goes on in another thread.

    Calls that only compute run in the same thread.
    """

    def __init__(self, flow: Flow[Any]) -> None:
        self._flow = flow
        self._context = contextvars.copy_context()
        self._is_given_up = False

    async def advance(self, answer: Any, failure: BaseException | None) -> Call | Sequence[Call] | _Returned:
        """The flow's next request after an answer or a failure, or its end.

        If the task is cancelled meanwhile, the flow stops after its current call, and releases what it holds.
        """
        future: Future[Any] | None = None
        try:
            async with _limits_of_loop()[1]:
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

    def _advance(self, answer: Any, failure: BaseException | None) -> Call | Sequence[Call] | _Returned:
        try:
            while True:
                try:
                    request = self._flow.throw(failure) if failure else self._flow.send(answer)
                except StopIteration as stop:
                    return _Returned(stop.value)
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


_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[asyncio.Semaphore, asyncio.Semaphore]] = WeakKeyDictionary()


def _limits_of_loop() -> tuple[asyncio.Semaphore, asyncio.Semaphore]:
    """Return what limits the threads that this event loop waits for: those that wait themselves, and those that compute.

    With more computing threads than cores, the loop waits for its turn. Abandoned threads do not count.
    """
    loop = asyncio.get_running_loop()
    if loop not in _semaphores:
        _semaphores[loop] = asyncio.Semaphore(_MOST_THREADS), asyncio.Semaphore(CORES)
    return _semaphores[loop]
