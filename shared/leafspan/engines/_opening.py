"""What a user gives as an engine, as leafspan calls it: a client, an engine, or the address of a server."""

from __future__ import annotations

from typing import Any

from leafspan.engines._tables import CalledEngine, FlowEngine, is_engine
from leafspan.flows import Flow

_CHROMA = ("http://", "https://")
_POSTGRES = ("postgresql://", "postgres://")


def to_engine(thing: Any, timeout: float) -> FlowEngine:
    """The engine of the user's, or a client of Chroma as one. Each call ends after ``timeout`` seconds."""
    if is_engine(thing):
        return CalledEngine(thing, timeout)
    from leafspan.engines.chroma import Chroma

    return Chroma(thing, timeout)


def is_address(path: object) -> bool:
    """Whether the place of an index is the address of a server, and no folder."""
    return isinstance(path, str) and path.lower().startswith(_CHROMA + _POSTGRES)


def connect(address: str, timeout: float) -> Flow[tuple[Any, str | None]]:
    """What is reached at an address, and the name that the address has for the index; None if it has none.

    Raises:
        InvalidArgument: if it is no such address.
        MissingExtra: if what it takes is not installed.
        ServerTimeout: if the server does not answer within the timeout.
        StorageFailed: if it cannot be reached.
    """
    if address.lower().startswith(_POSTGRES):
        from leafspan.engines.postgres import connect as connect_to_database

        return (yield from connect_to_database(address, timeout)), None
    from leafspan.engines.chroma import connect as connect_to_chroma

    return (yield from connect_to_chroma(address, timeout))
