"""A LightRAG in its own thread."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from leafspan.checks import check_number, shown
from leafspan.errors import ForkedProcess, InvalidArgument, SourceFailed
from leafspan.sources._waiting import acall_within, call_within, late

_CLOSING = 10.0  # seconds


class LightRAGThread:
    """A LightRAG in a thread of its own, for use from scripts, notebooks and any event loop.

    A LightRAG belongs to the event loop in which it was opened. The thread has an event loop that always runs, so several
    threads and loops can make blocking and asynchronous calls at the same time.

        with LightRAGThread(lambda: lightrag.LightRAG(working_dir="graph", ...)) as graph:
            graph.run(lambda rag: rag.ainsert(**lightrag_inputs(index)))
            passages = index.retrieve(question, LightRAG(graph))

    Args:
        make: Function, or coroutine function, that makes the LightRAG. It is called in the thread. The storages are opened
            there, unless it has opened them.
        timeout: Seconds, > 0, that making and opening may take. Default: 300.

    Attributes:
        instance: The LightRAG. Do not await its methods elsewhere; use ``run`` and ``arun``.

    Raises:
        InvalidArgument: if ``make`` is no function, or returns no LightRAG.
        SourceTimeout: if it takes longer than ``timeout``.
        Exception: what ``make`` raises.
    """

    instance: Any

    def __init__(self, make: Callable[[], Any], *, timeout: float = 300.0) -> None:
        if not callable(make) or (hasattr(make, "aquery_data") and not isinstance(make, type)):
            raise InvalidArgument(f"make must be a function that makes a lightrag.LightRAG, got {shown(make)}")
        check_number("timeout", timeout, above=0, unit="seconds")
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._making: asyncio.Task[None] | None = None
        opened: Future[Any] = Future()
        self._thread = threading.Thread(target=self._live, args=(make, opened), name="leafspan: LightRAG", daemon=True)
        self._thread.start()
        try:
            self.instance = opened.result(timeout)
        except TimeoutError:
            if opened.done():
                raise
            opened.cancel()
            if self._loop is not None and self._making is not None:
                with suppress(RuntimeError):  # the loop is closed already
                    self._loop.call_soon_threadsafe(self._making.cancel)
            raise late("make", timeout) from None

    def run(self, work: Work[T], *, timeout: float = 300.0) -> T:
        """Return the result of ``await work(instance)``, such as ``run(lambda rag: rag.ainsert(texts, ids=ids))``.

        Args:
            work: Function that takes the LightRAG and returns an awaitable.
            timeout: Longest time to wait, > 0. Unit: seconds. Default: 300.

        Raises:
            SourceTimeout: if the work takes longer.
            InvalidArgument: if ``timeout`` is out of its range, or the call comes from the thread itself.
            SourceFailed: if the LightRAGThread is closed.
            ForkedProcess: if another process made the LightRAGThread, and this process was forked from it.
        """
        check_number("timeout", timeout, above=0, unit="seconds")
        return work_on(self.loop, self.instance, work, timeout)

    async def arun(self, work: Work[T], *, timeout: float = 300.0) -> T:
        """Like ``run``, without blocking the event loop."""
        check_number("timeout", timeout, above=0, unit="seconds")
        return await awork_on(self.loop, self.instance, work, timeout)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The LightRAG's event loop.

        Raises:
            SourceFailed: if the LightRAGThread is closed.
            ForkedProcess: if another process made the LightRAGThread, and this process was forked from it.
        """
        if self._process != os.getpid():
            raise ForkedProcess("a LightRAGThread must be made in the process that uses it: a fork does not copy threads")
        if not self._thread.is_alive():
            raise SourceFailed("this LightRAGThread must be open, but it is closed: make another one")
        assert self._loop is not None
        return self._loop

    def close(self, *, timeout: float = _CLOSING) -> None:
        """Close the storages and end the thread. A second call does no harm.

        Args:
            timeout: Longest time to wait for the end. Unit: seconds. Default: 10.
        """
        if self._process == os.getpid() and self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "open" if self._process == os.getpid() and self._thread.is_alive() else "closed"
        return f"<LightRAGThread, {state}>"

    def _live(self, make: Callable[[], Any], opened: Future[Any]) -> None:
        try:
            asyncio.run(self._open_and_wait(make, opened))
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)

    async def _open_and_wait(self, make: Callable[[], Any], opened: Future[Any]) -> None:
        self._stop, self._making = asyncio.Event(), asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        made = make()
        instance = await made if inspect.isawaitable(made) else made
        if status_of(instance) == "CREATED":
            await instance.initialize_storages()
        try:
            check_instance(instance)
            if opened.set_running_or_notify_cancel():
                opened.set_result(instance)
                await self._stop.wait()
        finally:
            if status_of(instance) == "INITIALIZED":
                await instance.finalize_storages()


T = TypeVar("T")
Work = Callable[[Any], Awaitable[T]]

_NAME = "LightRAG"


def work_on(home: asyncio.AbstractEventLoop, instance: Any, work: Work[T], timeout: float) -> T:
    """Return the result of ``await work(instance)``. Blocks for at most ``timeout`` seconds."""
    if not home.is_running():
        answer: T = call_within(timeout, _NAME, _work_in, home, instance, work, timeout)
        return answer
    if home is _running_loop():
        raise InvalidArgument(
            "instance must not live in the event loop that waits for this call, since neither could go on: use the "
            "asynchronous method (aretrieve, aretrieve_data, ainvoke), or make the LightRAG in a LightRAGThread"
        )
    future = asyncio.run_coroutine_threadsafe(_within(work, instance, timeout), home)
    try:
        # The work may block the loop itself; then the loop's own timeout never comes.
        return future.result(timeout + _GRACE)
    except TimeoutError:
        if future.done():
            raise
        future.cancel()
        raise late(_NAME, timeout) from None


async def awork_on(home: asyncio.AbstractEventLoop, instance: Any, work: Work[T], timeout: float) -> T:
    """Like ``work_on``, from any event loop, and without blocking it."""
    if not home.is_running():
        return await acall_within(timeout, _NAME, _work_in, home, instance, work, timeout)
    if home is asyncio.get_running_loop():
        return await _within(work, instance, timeout)
    future = asyncio.run_coroutine_threadsafe(_within(work, instance, timeout), home)
    wrapped = asyncio.wrap_future(future)
    try:
        done, _ = await asyncio.wait([wrapped], timeout=timeout + _GRACE)
    except asyncio.CancelledError:
        future.cancel()
        raise
    if not done:
        future.cancel()
        raise late(_NAME, timeout)
    return wrapped.result()


_GRACE = 0.2  # seconds for a timeout inside a loop to arrive outside


async def _within(work: Work[T], instance: Any, timeout: float) -> T:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await work(instance)
    except TimeoutError:
        if limit.expired():
            raise late(_NAME, timeout) from None
        raise


def _work_in(home: asyncio.AbstractEventLoop, instance: Any, work: Work[T], timeout: float) -> T:
    """Run the work in a thread without a loop. The caller has its own limit, since the work may block the loop."""
    lock = _lock_of(home)
    if not lock.acquire(timeout=timeout):
        raise late(_NAME, timeout)
    try:
        return home.run_until_complete(_within(work, instance, timeout))
    finally:
        lock.release()


_locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, threading.Lock] = weakref.WeakKeyDictionary()


def _lock_of(loop: asyncio.AbstractEventLoop) -> threading.Lock:
    return _locks.setdefault(loop, threading.Lock())


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


_METHODS = ("aquery_data", "aquery_llm")


def check_instance(instance: Any) -> None:
    """Check that ``instance`` is a LightRAG with open storages."""
    if isinstance(instance, type) or not all(callable(getattr(instance, name, None)) for name in _METHODS):
        raise InvalidArgument(
            f"instance must be a lightrag.LightRAG or a LightRAGThread, got {_what(instance)}; leafspan's own LightRAG is "
            "a strategy, so it helps to `import lightrag` and write lightrag.LightRAG"
        )
    check_initialized(instance)


def check_initialized(instance: Any) -> None:
    """Check that the storages of a LightRAG are open."""
    status = status_of(instance)
    if status not in (None, "INITIALIZED"):
        raise InvalidArgument(
            f"instance must be initialised, got a LightRAG that is {status}: call `await instance.initialize_storages()` "
            "first, or make it in a LightRAGThread, which does"
        )


def status_of(instance: Any) -> str | None:
    """``"CREATED"``, ``"INITIALIZED"`` or ``"FINALIZED"``, or None if LightRAG does not report its status."""
    return getattr(getattr(instance, "_storages_status", None), "name", None)


def home_loop(instance: Any) -> asyncio.AbstractEventLoop:
    """The event loop in which the storages were opened."""
    if not hasattr(instance, "_owning_loop"):
        raise InvalidArgument(
            "instance must say which event loop it lives in, and this version of LightRAG does not: make it in a "
            "LightRAGThread"
        )
    loop = instance._owning_loop
    if not isinstance(loop, asyncio.AbstractEventLoop) or loop.is_closed():
        raise InvalidArgument(
            "instance must live in an event loop that is open, and the one that its storages were opened in is closed, as "
            "after asyncio.run: make the LightRAG in a LightRAGThread, or ask in the same asyncio.run"
        )
    return loop


def _what(instance: Any) -> str:
    return f"the class {instance.__name__}" if isinstance(instance, type) else shown(instance)
