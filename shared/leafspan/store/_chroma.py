"""A client of Chroma, whose requests to a server end."""

from __future__ import annotations

import copy
from typing import Any

from leafspan.flows import Call
from leafspan.store._caller import Caller, server_of
from leafspan.store._collection import Collection

_LATER = 0.5  # seconds that a request has longer than who waits for it, whose error says what the timeout was


class Chroma:
    """A client of Chroma, whose methods are calls."""

    def __init__(self, client: Any, timeout: float = 30.0) -> None:
        self.caller = Caller.of(client, timeout)
        self._client = client if self.caller.timeout is None else _with_timeout(client, self.caller.timeout + _LATER)

    @property
    def native(self) -> bool:
        """Whether the client is asynchronous."""
        return self.caller.native

    def collection(self, handle: Any, batch: int) -> Collection:
        """A collection of the client, from Chroma's handle."""
        return Collection(handle, batch, caller=self.caller)

    def call(self, method: str, *arguments: Any, **options: Any) -> Call:
        """The call of one of the client's methods."""
        named = f" {arguments[0]!r}" if arguments else ""
        return self.caller.call(f"{method.replace('_', ' ')}{named}", getattr(self._client, method), arguments, options)


def _with_timeout(client: Any, timeout: float) -> Any:
    """A copy of a client, which gives up its requests after so many seconds in which nothing was sent or received.

    Chroma's own waits for ever: what nobody waits for any more would keep a thread and a connection each. The client itself
    is the user's, and stays as it is. A client of another make is returned as it is.
    """
    server = server_of(client)
    session: Any = getattr(server, "_session", None)
    if not hasattr(client, "_server") or not hasattr(session, "request") or not hasattr(session, "timeout"):
        return client
    if any(seconds is not None for seconds in session.timeout.as_dict().values()):
        return client  # the user's own
    twin, server = copy.copy(client), copy.copy(server)
    server._session = _Session(session, timeout)
    twin._server = server
    return twin


class _Session:
    """A session of httpx with a timeout."""

    def __init__(self, session: Any, timeout: float) -> None:
        self._session = session
        self._timeout = timeout

    def request(self, *arguments: Any, **options: Any) -> Any:
        """Send a request."""
        return self._session.request(*arguments, timeout=self._timeout, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)
