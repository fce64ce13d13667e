"""Calls an engine with a timeout, and turns its exceptions into leafspan's errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeAlias

from leafspan.engines._port import StaleRead
from leafspan.errors import LeafspanError, ServerTimeout, StorageFailed
from leafspan.flows import Call, in_thread

LEAST_SECONDS = 1.0
"""The shortest time that an engine gets to answer: a timeout of 0 only means not to wait for other writers."""


_Read: TypeAlias = Callable[[Any], Any] | None

Translate: TypeAlias = Callable[..., BaseException | None]
"""Turns an exception into leafspan's error, like ``failure``, or returns None if it must pass unchanged."""


def failure(error: BaseException, doing: str, place: str, *, server: bool, writing: bool) -> BaseException | None:
    """Return leafspan's error for any exception of an engine, or None if it must pass unchanged."""
    if isinstance(error, LeafspanError | StaleRead | MemoryError | RecursionError) or not isinstance(error, Exception):
        return None
    if isinstance(error, TimeoutError):
        return late_answer(doing, place, in_one_line(error), writing=writing)
    return StorageFailed(f"could not {doing} in {place}: {in_one_line(error)}; check that it runs, then try again")


@dataclass(frozen=True, slots=True)
class Caller:
    place: str  # of the engine, for errors
    native: bool = False  # whether the methods are coroutine functions
    timeout: float | None = None  # seconds; None for an engine in this process
    late_writes: set[Future[Any]] = field(default_factory=set, compare=False)  # timed out, and not ended yet
    translate: Translate = field(default=failure, compare=False)

    @property
    def in_process(self) -> bool:
        """Whether the engine runs in this process, where a write may block an event loop."""
        return self.timeout is None and not self.native

    def call(
        self,
        doing: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...] = (),
        options: dict[str, Any] | None = None,
        *,
        finish: bool = False,
        read: _Read = None,
    ) -> Call:
        """Return the call of a method. ``read`` makes the result from its answer: its errors are the engine's, too."""
        made: Any = partial(self._await if self.native else self._make, doing, finish, read, function)
        made.__name__ = getattr(function, "__name__", "")  # by which drivers of flows tell calls apart
        called, awaited = (None, made) if self.native else (made, None)
        return Call(called, arguments, options or {}, awaited, finish, self.place)

    def _make(
        self, doing: str, writing: bool, read: _Read, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Any:
        future: Future[Any] | None = None
        try:
            if self.timeout is None:
                answer = function(*arguments, **options)
            else:
                future = in_thread(partial(function, **options), *arguments)
                answer = future.result(self.timeout)
            return answer if read is None else read(answer)
        except BaseException as error:
            if future is None or future.done():
                self._raise(error, doing, writing)
            if writing:
                self.late_writes.add(future)
                future.add_done_callback(self.late_writes.discard)
            if isinstance(error, TimeoutError):
                self._raise_late(doing, writing)
            raise

    async def _await(
        self, doing: str, writing: bool, read: _Read, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Any:
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                answer = await function(*arguments, **options)
                return answer if read is None else read(answer)
        except BaseException as error:
            if isinstance(error, TimeoutError) and limit.expired():
                self._raise_late(doing, writing)
            self._raise(error, doing, writing)

    def _raise_late(self, doing: str, writing: bool) -> NoReturn:
        words = f"it has not answered within the timeout of {self.timeout:g} seconds"
        raise late_answer(doing, self.place, words, writing=writing) from None

    def _raise(self, error: BaseException, doing: str, writing: bool) -> NoReturn:
        ours = self.translate(error, doing, self.place, server=self.timeout is not None, writing=writing)
        if ours is None:
            raise error
        raise ours from error


def late_answer(doing: str, place: str, words: str, *, writing: bool) -> ServerTimeout:
    unknown = "; whether it was written is not known: add it again" if writing else ""
    return ServerTimeout(
        f"could not {doing} in {place}: {words}; check that the server runs and is reachable, or open the index with a "
        f"longer timeout{unknown}"
    )


def in_one_line(error: BaseException) -> str:
    """Return an error's message in one line, or its class name if the message is empty."""
    return " ".join(str(error).split())[:500] or type(error).__name__
