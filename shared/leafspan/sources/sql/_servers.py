"""PostgreSQL: its drivers' timeouts, and a transaction that is read-only, limited in time, and rolled back."""

from __future__ import annotations

from math import ceil
from typing import Any

from leafspan.errors import QueryFailed
from leafspan.sources.sql._timeout import Deadline


def connect_arguments(driver: str, seconds: float) -> dict[str, Any]:
    """A driver's options that limit the time for connecting and reading; empty for an unknown driver."""
    if driver == "pg8000":
        return {"timeout": seconds}
    whole = max(1, ceil(seconds))
    known = driver in ("psycopg", "psycopg2")
    return {"connect_timeout": max(2, whole), "tcp_user_timeout": 1000 * whole} if known else {}


def with_transactions(connection: Any) -> Any:
    """A connection whose statements run in a transaction, even if the engine is set to AUTOCOMMIT."""
    if connection.dialect.name == "postgresql":
        return connection.execution_options(isolation_level="READ COMMITTED")
    return connection


def restrict_server(connection: Any, deadline: Deadline) -> None:
    """Begin a transaction that is read-only and limited in time.

    All settings are for this transaction only, since a proxy may pass the session to another client afterwards.

    Raises:
        QueryFailed: if the server does not make the transaction read-only.
    """
    milliseconds = max(1, int(1000 * deadline.left))
    _run(connection, "SET TRANSACTION READ ONLY")
    _run(connection, f"SET LOCAL statement_timeout = {milliseconds}")
    _run(connection, f"SET LOCAL lock_timeout = {milliseconds}")
    # A backslash in a string is only a backslash, as in the check of the query.
    _run(connection, "SET LOCAL standard_conforming_strings = on")
    if _run(connection, "SHOW transaction_read_only").scalar() != "on":
        raise QueryFailed("the transaction must be read-only, but the server did not make it read-only")


def _run(connection: Any, statement: str) -> Any:
    return connection.exec_driver_sql(statement)
