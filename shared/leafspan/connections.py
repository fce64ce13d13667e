"""Connections to this machine's servers: idle connections must not keep others out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

from uvicorn.protocols.http.h11_impl import H11Protocol


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with limits for which uvicorn has no setting.

    A new connection must begin its request within uvicorn's ``timeout_keep_alive``. A whole request must arrive within some
    seconds of its first byte, and the peer must read the answer. A peer with too many connections loses one that waits for
    a request. If uvicorn's ``limit_concurrency`` would refuse a request, the peer with the most connections loses one. New
    connections are closed last, even if many others have been answered since.
    """

    most_of_a_peer = 32
    grace_seconds = 1.0  # during which a new connection is treated as sending a request
    request_seconds = 10.0  # from a request's first byte to its last
    reading_seconds = 30.0  # in which a peer must read more of its answer

    _since = 0.0
    _receiving = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Limit the peer's connections when it makes a new one."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._end_after(self.timeout_keep_alive)
        own = [each for each in self._all() if each._peer == self._peer]
        if len(own) > self.most_of_a_peer:
            self._end_longest(each for each in own if self._since - each._since > self.grace_seconds)

    def data_received(self, data: bytes) -> None:
        """Make room for a request, and limit its time."""
        while self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            waiting = [each for each in self._all() if each._is_waiting and each is not self]
            counts = Counter(each._peer for each in waiting)
            if not self._end_longest(each for each in waiting if counts[each._peer] == max(counts.values())):
                break
        super().data_received(data)
        if not self._is_waiting:
            self._receiving = False
            self._end_after(None)
        elif not self._receiving:
            self._receiving = True
            self._end_after(self.request_seconds)

    def on_response_complete(self) -> None:
        """Note the time of an answer. uvicorn itself closes a connection that is idle from then on."""
        self._since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Limit the time in which the peer does not read."""
        super().pause_writing()
        self._end_after(self.reading_seconds)

    def resume_writing(self) -> None:
        """End that limit when the peer reads again."""
        super().resume_writing()
        self._end_after(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a closed connection."""
        self._end_after(None)
        super().connection_lost(exc)

    @property
    def _is_waiting(self) -> bool:
        """Whether no complete request is being answered."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _is_new(self, now: float) -> bool:
        return self.cycle is None and now - self._since <= self.grace_seconds

    @property
    def _peer(self) -> str | None:
        return self.client and self.client[0]

    def _all(self) -> list[BoundedProtocol]:
        return [each for each in self.connections if isinstance(each, BoundedProtocol)]

    def _end_longest(self, connections: Iterable[BoundedProtocol]) -> bool:
        """Close the connection that has waited longest for a request, new ones last. False if no connection waits."""
        now = self.loop.time()
        waiting = (each for each in connections if each._is_waiting)
        longest = min(waiting, key=lambda each: (each._is_new(now), each._since), default=None)
        if longest is None:
            return False
        self.connections.discard(longest)
        longest.transport.abort()
        return True

    def _end_after(self, seconds: float | None) -> None:
        """Close the connection after some seconds, instead of the time set before. None: do not close it."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
