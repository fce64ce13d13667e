"""Calls: pieces of blocking work that a flow yields."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from leafspan.errors import RetrievalTimeout

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One piece of blocking work: ``function(*arguments, **options)``."""

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    native: Callable[..., Any] | None = None
    finish: bool = False
    what: str | None = None
    computes: bool = False

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


def asked_whether_awaited() -> Call:
    """A call whose result is True if the driver awaits calls, so that an event loop must not block."""
    return Call(_is_blocking, native=_is_awaiting, what="")


def _is_blocking() -> bool:
    return False


async def _is_awaiting() -> bool:
    return True


_MOST_CLEANUPS = 100


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
    """The deadline of a retrieval."""

    __slots__ = ("_at", "_outer", "_seconds", "_stopped", "_waiting")

    def __init__(self, seconds: float, outer: Deadline | None = None) -> None:
        self._at = time.monotonic() + seconds
        self._outer = outer
        self._seconds = seconds
        self._stopped = False
        self._waiting: dict[int, Call | Sequence[Call]] = {}

    @property
    def left(self) -> float:
        """Seconds left, >= 0."""
        left = max(0.0, self._at - time.monotonic())
        return left if self._outer is None else min(left, self._outer.left)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed, or was stopped."""
        if self._stopped or time.monotonic() >= self._at:
            return True
        return self._outer is not None and self._outer.is_over

    def stop(self) -> None:
        """Stop the deadline early, since the caller waits no longer."""
        self._stopped = True

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
