"""Calls an engine with a timeout, and turns its exceptions into leafspan's errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, Protocol

from leafspan.engines._port import StaleRead
from leafspan.errors import LeafspanError, ServerTimeout, StorageFailed
from leafspan.flows import Call, in_thread

LEAST_SECONDS = 1.0
"""The shortest time that an engine gets to answer: a timeout of 0 only means not to wait for other writers."""


class Translate(Protocol):
    """Turns an engine's exception into a error of leafspan, or returns None if it must pass unchanged."""

    def __call__(
        self, error: BaseException, doing: str, place: str, *, server: bool, writing: bool
    ) -> BaseException | None:
        """Return the leafspan error that says which operation failed, and where."""
        ...


def failure(error: BaseException, doing: str, place: str, *, server: bool, writing: bool) -> BaseException | None:
    """Return leafspan's error for any exception of an engine: see ``Translate``."""
    if isinstance(error, LeafspanError | StaleRead | MemoryError | RecursionError) or not isinstance(error, Exception):
        return None
    if isinstance(error, TimeoutError):
        return late_answer(doing, place, in_one_line(error), writing=writing)
    return StorageFailed(f"could not {doing} in {place}: {in_one_line(error)}; see whether it runs, then try again")


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls an engine's methods."""

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
        read: Callable[[Any], Any] | None = None,
    ) -> Call:
        """Return the call of a method. ``read`` makes the result from its answer: its errors are the engine's, too."""
        options = options or {}
        read_function = function if read is None else (_read_later if self.native else _read)(function, read)
        if self.native:
            awaited = _named(partial(self._await, doing, finish, read_function), function)
            return Call(None, arguments, options, awaited, finish, self.place)
        make = self._make if self.timeout is None else self._make_in_time
        made = _named(partial(make, doing, finish, read_function), function)
        return Call(made, arguments, options, None, finish, self.place)

    def _make(self, doing: str, writing: bool, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except BaseException as error:
            self._raise(error, doing, writing)

    def _make_in_time(
        self, doing: str, writing: bool, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Any:
        future = in_thread(partial(function, **options), *arguments)
        try:
            return future.result(self.timeout)
        except BaseException as error:
            if future.done():
                self._raise(error, doing, writing)
            if writing:
                self.late_writes.add(future)
                future.add_done_callback(self.late_writes.discard)
            if isinstance(error, TimeoutError):
                raise late_answer(doing, self.place, self._late, writing=writing) from None
            raise

    async def _await(
        self, doing: str, writing: bool, function: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Any:
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                return await function(*arguments, **options)
        except BaseException as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise late_answer(doing, self.place, self._late, writing=writing) from None
            self._raise(error, doing, writing)

    @property
    def _late(self) -> str:
        return f"it has not answered within the timeout of {self.timeout:g} seconds"

    def _raise(self, error: BaseException, doing: str, writing: bool) -> NoReturn:
        ours = self.translate(error, doing, self.place, server=self.timeout is not None, writing=writing)
        if ours is None:
            raise error
        raise ours from error


def _read(function: Callable[..., Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: read(function(*arguments, **options))


def _read_later(function: Callable[..., Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    async def awaited(*arguments: Any, **options: Any) -> Any:
        return read(await function(*arguments, **options))

    return awaited


def _named(call: partial[Any], function: Callable[..., Any]) -> partial[Any]:
    """Give a call the function's name, by which drivers of flows tell calls apart."""
    call.__name__ = getattr(function, "__name__", "")  # type: ignore[attr-defined]
    return call


def late_answer(doing: str, place: str, words: str, *, writing: bool) -> ServerTimeout:
    """Return the error for an engine that did not answer in time."""
    unknown = "; whether it was written is not known: add it again" if writing else ""
    return ServerTimeout(
        f"could not {doing} in {place}: {words}; see whether the server runs and is reached, or open the index with a "
        f"longer timeout{unknown}"
    )


def in_one_line(error: BaseException) -> str:
    """Return an error's message in one line, or its class name if the message is empty."""
    return " ".join(str(error).split())[:500] or type(error).__name__
