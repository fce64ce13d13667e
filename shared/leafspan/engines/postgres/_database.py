"""The argument for a PostgreSQL database: a pool of connections, and a schema."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from leafspan.checks import check_number
from leafspan.engines._caller import LEAST_SECONDS, Caller, failure, in_one_line, late_answer
from leafspan.errors import InvalidArgument, MissingExtra, StorageFailed, StorageFull, StorageReadOnly
from leafspan.flows import Flow


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL database with pgvector, for ``Index.open(client=...)``.

    Attributes:
        pool: A ``ConnectionPool`` of psycopg_pool, or an ``AsyncConnectionPool`` for ``Index.aopen``.
        schema: Schema of the tables. leafspan makes a missing schema. Default: ``"public"``.
        place: The database's name in errors. Default: ``"the database"``.
        closes: Whether closing the index closes the pool. Default: False.
    """

    pool: Any
    schema: str = "public"
    place: str = "the database"
    closes: bool = False


def check_installed() -> None:
    """Check that psycopg and pgvector are installed."""
    try:
        import pgvector  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise MissingExtra.of("an index in PostgreSQL needs psycopg and pgvector", "postgres") from error


_MOST_CONNECTIONS = 8
_PARTS = re.compile(r"([^/@]*@)?[^@]*")  # otherwise libpq may read a part of the password as the host's or database's name
_PORTS = re.compile(r"[\d,]*")


def connect(address: str, timeout: float) -> Flow[Postgres]:
    """Return the database at an address as an engine. ``address`` is what follows ``postgresql://``."""
    check_number("timeout", timeout, at_least=0, unit="seconds")
    check_installed()
    if (parts := _parts(address)) is None:
        raise InvalidArgument(
            "the address of a database must be postgresql://user@host:port/database, in which %, @, / and : of a name or a "
            "password are written as %25, %40, %2F and %3A, and only libpq's options follow a ?"
        )
    place = f"the database {parts.get('dbname') or parts.get('user') or 'postgres'} at {parts.get('host') or 'localhost'}"
    seconds = max(timeout, LEAST_SECONDS)
    pool = yield Caller(place, timeout=seconds).call("connect", _pool, (parts, seconds))
    return Postgres(pool, place=place, closes=True)


def _parts(address: str) -> dict[str, Any] | None:
    """Return the options of a connection, or None for a wrong address: libpq's error could show a part of the password."""
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    if not _PARTS.fullmatch(address):
        return None
    try:
        parts = conninfo_to_dict("postgresql://" + address.replace(" ", "%20"), client_encoding="UTF8")
    except Error:
        return None
    return parts if _PORTS.fullmatch(str(parts.get("port") or "")) else None


def _pool(parts: dict[str, Any], seconds: float) -> Any:
    import psycopg
    from psycopg.conninfo import make_conninfo
    from psycopg_pool import ConnectionPool

    address = make_conninfo(**parts)
    with psycopg.connect(address, connect_timeout=math.ceil(seconds)):
        pass  # a pool would try again and again, and say only that it has no connection
    pool: Any = ConnectionPool(address, min_size=1, max_size=_MOST_CONNECTIONS, timeout=seconds, open=False)
    pool.open()
    return pool


_CONTENT = "22"  # the SQLSTATE class for invalid values, such as a vector of another length
_BY_CODE = {
    "25006": (StorageReadOnly, "write to the primary server: a replica is only read"),
    "42501": (StorageReadOnly, "let an administrator run what leafspan.engines.postgres.script prints, or grant the right"),
    "53100": (StorageFull, "make space there, then do it again: what was written before is whole"),
    "53300": (StorageFailed, "the server has no more connections: use fewer, or raise its max_connections"),
    "57P03": (StorageFailed, "it is starting or stopping: try again"),
}


def translated(error: BaseException, doing: str, place: str, *, server: bool, writing: bool) -> BaseException | None:
    """See ``Translate``."""
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(error).__mro__}
    words = in_one_line(error)
    code = str(getattr(error, "sqlstate", None) or "")
    if "psycopg_pool.PoolTimeout" in kinds or "psycopg.QueryCanceled" in kinds:
        return late_answer(doing, place, words, writing=writing)
    if code in _BY_CODE:
        kind, remedy = _BY_CODE[code]
        return kind(f"could not {doing} in {place}: {words}; {remedy}")
    if "psycopg.DataError" in kinds and code.startswith(_CONTENT):
        return InvalidArgument(f"could not {doing} in {place}: {words}; give vectors as long as the index's vectors")
    return failure(error, doing, place, server=server, writing=writing)
