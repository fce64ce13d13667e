"""Database servers: a transaction that is read-only where the server has such, with limits of time, and rolled back."""

from __future__ import annotations

from typing import Any

from leafspan.errors import QueryFailed
from leafspan.sources.sql._timeout import Deadline


def with_transactions(connection: Any) -> Any:
    """A connection whose statements are in a transaction, whatever its engine is set to, such as AUTOCOMMIT."""
    if connection.dialect.name in ("postgresql", "cockroachdb", "mysql", "mariadb"):
        return connection.execution_options(isolation_level="READ COMMITTED")
    return connection


def restrict_server(connection: Any, deadline: Deadline) -> None:
    """Begin a transaction in which the server changes nothing, and stops in time, as far as it can.

    Everything is set for this transaction only, since a proxy may give the same session to somebody else afterwards. MySQL
    and MariaDB have some limits for sessions only.

    Raises:
        QueryFailed: if PostgreSQL does not make the transaction read-only.
    """
    name = connection.dialect.name
    milliseconds = max(1, int(1000 * deadline.left))
    if name in ("postgresql", "cockroachdb"):
        _run(connection, "SET TRANSACTION READ ONLY")
        _run(connection, f"SET LOCAL statement_timeout = {milliseconds}")
        _run(connection, f"SET LOCAL lock_timeout = {milliseconds}")
        # Backslashes in strings mean themselves, as they do where the query is checked.
        _run(connection, "SET LOCAL standard_conforming_strings = on")
        if _run(connection, "SHOW transaction_read_only").scalar() != "on":
            raise QueryFailed("the transaction must be read-only, and the server did not make it so")
    elif name in ("mysql", "mariadb"):
        if getattr(connection.dialect, "is_mariadb", name == "mariadb"):
            _run(connection, f"SET SESSION max_statement_time = {milliseconds / 1000:.3f}")
        else:
            _run(connection, f"SET SESSION max_execution_time = {milliseconds}")
        _run(connection, f"SET SESSION innodb_lock_wait_timeout = {max(1, milliseconds // 1000)}")
        _run(connection, "START TRANSACTION READ ONLY")
    elif name == "oracle":
        _run(connection, "SET TRANSACTION READ ONLY")
    elif name == "mssql":
        _run(connection, f"SET LOCK_TIMEOUT {milliseconds}")


def _run(connection: Any, statement: str) -> Any:
    return connection.exec_driver_sql(statement)
