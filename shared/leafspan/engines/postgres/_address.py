"""The address of a database: ``postgresql://user@host/database``."""

from __future__ import annotations

import math
import re
from typing import Any

from leafspan.checks import check_number
from leafspan.engines._caller import LEAST_SECONDS, Caller
from leafspan.engines.postgres._database import Postgres, check_installed
from leafspan.errors import InvalidArgument
from leafspan.flows import Flow

_MOST_CONNECTIONS = 8
_PARTS = re.compile(r"([^/@]*@)?[^@]*")  # otherwise libpq may read a part of the password as the host's or database's name
_PORTS = re.compile(r"[\d,]*")


def connect(address: str, timeout: float) -> Flow[Postgres]:
    """Return the database at an address as an engine. ``address`` is what follows ``postgresql://``.

    Raises:
        InvalidArgument: if the address is not valid.
        MissingExtra: if the extra ``postgres`` is not installed.
        ServerTimeout: if the database does not answer within the timeout.
        StorageFailed: if the database cannot be reached.
    """
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
