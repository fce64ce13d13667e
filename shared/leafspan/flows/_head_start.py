"""A head start for one of two flows that run together."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from typing import TypeVar

from leafspan.flows._call import Call, Flow

T = TypeVar("T")

_LONGEST_SECONDS = 0.25  # so that nobody waits for one that waits itself, such as for another writer


class HeadStart:
    """What a flow has ahead of others, until it says that it waits for work that is not done here.

    A thread that computes, and lets go of Python's lock now and then for a moment, as hashing does, can keep others from
    getting it for as long as it computes. So a flow that only hands work to another process does so first.
    """

    def __init__(self) -> None:
        self._over: Future[None] = Future()

    def end(self) -> None:
        """Let the others begin. It may be called in any thread, and again."""
        with suppress(InvalidStateError):
            self._over.set_result(None)

    def of(self, flow: Flow[T]) -> Flow[T]:
        """The flow that has the head start, which is over when the flow ends, if not before."""
        try:
            return (yield from flow)
        finally:
            self.end()

    def before(self, flow: Flow[T]) -> Flow[T]:
        """The flow, which begins when the head start is over, at the latest after a quarter of a second."""
        # In an event loop no thread is blocked: the flow that is waited for may need one.
        yield Call(wait, ([self._over], _LONGEST_SECONDS), native=_wait_for, what="")
        return (yield from flow)


async def _wait_for(futures: list[Future[None]], seconds: float) -> None:
    await asyncio.wait([*map(asyncio.wrap_future, futures)], timeout=seconds)
