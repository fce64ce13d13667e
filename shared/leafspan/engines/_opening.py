"""Turns what a user passes as an engine (a client, a pool, an engine, a server's address) into leafspan's own interface."""

from __future__ import annotations

import re
from inspect import iscoroutinefunction
from typing import Any, Literal

from leafspan.engines._tables import CalledEngine, FlowEngine, is_engine
from leafspan.engines.postgres import Postgres
from leafspan.flows import Flow

_CHROMA = re.compile(r"\s*https?://", re.IGNORECASE)
_POSTGRES = re.compile(r"\s*postgres(ql)?(\+\w+)?://", re.IGNORECASE)  # also with a driver's name, as SQLAlchemy takes it
_METHODS = {"chroma": "get_or_create_collection", "engine": "table", "pool": "getconn", "qdrant": "query_points"}


def is_client(thing: Any) -> bool:
    """Whether ``to_engine`` accepts it."""
    return _kind(thing) is not None


def is_awaited(thing: Any) -> bool:
    """Whether a client's methods are coroutine functions."""
    kind = _kind(thing)
    if kind == "postgres":
        return is_awaited(thing.pool)
    return kind is not None and iscoroutinefunction(getattr(thing, _METHODS[kind], None))


def to_engine(thing: Any, timeout: float) -> FlowEngine:
    """Return the user's engine, or wrap a client as an engine. Each call ends after ``timeout`` seconds."""
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
    """Whether an index's path is a server's address, not a folder."""
    return isinstance(path, str) and (_CHROMA.match(path) or _POSTGRES.match(path)) is not None


def connect(address: str, timeout: float) -> Flow[tuple[Any, str | None]]:
    """Connect to an address. Return the client or engine, and the name of the index in the address, if any."""
    if database := _POSTGRES.match(address):
        from leafspan.engines.postgres import connect as connect_to_database

        return (yield from connect_to_database(address[database.end() :].strip(), timeout)), None
    from leafspan.engines.chroma import connect as connect_to_chroma

    return (yield from connect_to_chroma(address.strip(), timeout))


def _kind(thing: Any) -> Literal["chroma", "engine", "pool", "postgres", "qdrant"] | None:
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
