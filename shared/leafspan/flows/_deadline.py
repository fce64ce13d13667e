"""The time by which a flow must be done, with all flows that it runs beside each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextvars import ContextVar

from leafspan.errors import RetrievalTimeout
from leafspan.flows._call import Call, Flow

_MOST_CLEANUPS = 100


class Stopped(BaseException):
    """Raised inside a flow that nobody waits for any more, so that it lets go of what it holds. No flow may catch it."""


def stop_flow(flow: Flow[object]) -> None:
    """End a flow that nobody waits for. What it asks for while it lets go is not done."""
    for _ in range(_MOST_CLEANUPS):
        try:
            flow.throw(Stopped())
        except BaseException:
            return


class Deadline:
    """When a retrieval must be done."""

    __slots__ = ("_at", "_outer", "_seconds", "_stopped", "_waiting")

    def __init__(self, seconds: float, outer: Deadline | None = None) -> None:
        self._at = time.monotonic() + seconds
        self._outer = outer
        self._seconds = seconds
        self._stopped = False
        self._waiting: dict[int, Call | Sequence[Call]] = {}

    @property
    def left(self) -> float:
        """Seconds until it is over, >= 0."""
        left = max(0.0, self._at - time.monotonic())
        return left if self._outer is None else min(left, self._outer.left)

    @property
    def is_over(self) -> bool:
        """Whether nobody waits any more."""
        if self._stopped or time.monotonic() >= self._at:
            return True
        return self._outer is not None and self._outer.is_over

    def stop(self) -> None:
        """End it before its time, since nobody waits any more."""
        self._stopped = True

    def waits(self, flow: object, request: Call | Sequence[Call]) -> None:
        """Note what a flow waits for."""
        self._waiting[id(flow)] = request

    def forget(self, flow: object) -> None:
        """Note that a flow is done."""
        self._waiting.pop(id(flow), None)

    def error(self) -> RetrievalTimeout:
        """The error for what is late. It says what is waited for."""
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
