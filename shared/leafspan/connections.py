"""Connections to this machine's servers: one that does not ask, or does not read, is closed."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with the time limits that uvicorn lacks. uvicorn itself only limits the time between two requests."""

    request_seconds = 10.0  # until a request is complete: from the connection's start, or from the request's first byte
    reading_seconds = 30.0  # in which a peer must read more of its answer

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Limit the time of the first request."""
        super().connection_made(transport)
        self._end_after(self.request_seconds)

    def data_received(self, data: bytes) -> None:
        """Limit the time of a request that is not complete."""
        super().data_received(data)
        if self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body):
            self._end_after(None)
        elif self._timer is None:
            self._end_after(self.request_seconds)

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

    def _end_after(self, seconds: float | None) -> None:
        """Close the connection after some seconds, instead of the time set before. None: do not close it."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)
