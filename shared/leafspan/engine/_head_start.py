"""A head start for one of two flows that run together."""

from __future__ import annotations

import threading
from typing import TypeVar

from leafspan.engine._call import Call, Flow

T = TypeVar("T")

_LONGEST_SECONDS = 0.25  # so that nobody waits for one that waits itself, such as for another writer


class HeadStart:
    """What a flow has ahead of others, until it says that it waits for work that is not done here.

    A thread that computes, and lets go of Python's lock now and then for a moment, as hashing does, can keep others from
    getting it for as long as it computes. So whoever has little to do here before another process goes on does that first.
    """

    def __init__(self) -> None:
        self._is_over = threading.Event()

    def end(self) -> None:
        """Let the others begin."""
        self._is_over.set()

    def before(self, flow: Flow[T]) -> Flow[T]:
        """The flow, which begins when the head start is over, at the latest after a quarter of a second."""
        yield Call(self._is_over.wait, (_LONGEST_SECONDS,), what="")
        return (yield from flow)
