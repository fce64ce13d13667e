"""Work that is given up when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from leafspan.errors import QueryTimeout, SourceTimeout
from leafspan.flows import call_within

T = TypeVar("T")

_GRACE = 0.25  # seconds in which a database may report by itself that it was stopped


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of the time that a query has.

    Attributes:
        seconds: How long it has.
        end: When it ends, on the monotonic clock.
    """

    seconds: float
    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline so many seconds from now."""
        return cls(seconds, time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left, at least a millisecond."""
        return max(0.001, self.end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() >= self.end

    @property
    def missed(self) -> QueryTimeout:
        """The error of a query that took longer."""
        return QueryTimeout(f"the database must answer within timeout={self.seconds:g} seconds, and did not")


def within(deadline: Deadline, work: Callable[[], T]) -> T:
    """What ``work`` returns, or the error that it raises, if it ends in time.

    It runs in a thread of its own, with the caller's context variables: a server that never answers blocks its driver, and
    nothing else. Late work goes on in its thread, and its result is dropped.

    Raises:
        QueryTimeout: if it is late.
    """
    try:
        return call_within(deadline.left + _GRACE, "the database", work)
    except SourceTimeout:
        raise deadline.missed from None
