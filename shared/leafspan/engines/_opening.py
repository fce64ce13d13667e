"""What a user gives as an engine, as leafspan calls it: a client, a pool, an engine, or the address of a server."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any, Literal

from leafspan.engines._tables import CalledEngine, FlowEngine, is_engine
from leafspan.engines.postgres import Postgres
from leafspan.flows import Flow

_CHROMA = ("http://", "https://")
_POSTGRES = ("postgresql://", "postgres://")
_ASKED = {"chroma": "get_or_create_collection", "engine": "table", "pool": "getconn", "qdrant": "query_points"}


def is_client(thing: Any) -> bool:
    """Whether it is something that ``to_engine`` makes an engine of."""
    return _kind(thing) is not None


def is_awaited(thing: Any) -> bool:
    """Whether the methods of a client are coroutine functions."""
    kind = _kind(thing)
    if kind == "postgres":
        return is_awaited(thing.pool)
    return kind is not None and iscoroutinefunction(getattr(thing, _ASKED[kind], None))


def to_engine(thing: Any, timeout: float) -> FlowEngine:
    """The engine of the user's, or a client as one. Each call ends after ``timeout`` seconds."""
    kind = _kind(thing)
    if kind == "engine":
        return CalledEngine(thing, timeout)
    if kind in ("pool", "postgres"):
        from leafspan.engines.postgres import PostgresEngine

        return PostgresEngine(Postgres(thing) if kind == "pool" else thing, timeout)
    if kind == "qdrant":
        from leafspan.engines.qdrant import QdrantEngine

        return QdrantEngine(thing, timeout)
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


def _kind(thing: Any) -> Literal["chroma", "engine", "pool", "postgres", "qdrant"] | None:
    """What a client is one of; None for something else."""
    if isinstance(thing, Postgres):
        return "postgres"
    if is_engine(thing):
        return "engine"
    made_by = {kind.__module__.partition(".")[0] for kind in type(thing).__mro__}
    if "psycopg_pool" in made_by and hasattr(thing, "getconn"):
        return "pool"
    if "qdrant_client" in made_by and hasattr(thing, "query_points"):
        return "qdrant"
    return "chroma" if hasattr(thing, "get_or_create_collection") else None
