"""Gives up work when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from leafspan.errors import QueryTimeout, SourceTimeout
from leafspan.sources._waiting import call_within

T = TypeVar("T")

_GRACE = 0.25  # seconds for a database to report that it stopped the query


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time at which a query must be done."""

    seconds: float
    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline in ``seconds`` from now."""
        return cls(seconds, time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left, at least a millisecond."""
        return max(0.001, self.end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.end

    @property
    def missed(self) -> QueryTimeout:
        """The error of a query that missed the deadline."""
        return QueryTimeout(f"the database must answer within timeout={self.seconds:g} seconds, and did not")


def within(deadline: Deadline, work: Callable[[], T]) -> T:
    """Return the result of ``work``, or raise its error, if it ends in time.

    The work runs in its own thread, with the caller's context variables: a server that never answers blocks only that
    thread. Late work goes on in its thread, and its result is dropped.
    """
    try:
        return call_within(deadline.left + _GRACE, "the database", work)
    except SourceTimeout:
        raise deadline.missed from None
