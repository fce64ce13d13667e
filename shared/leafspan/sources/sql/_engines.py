"""Makes SQLAlchemy engines from a URL, or takes the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any
from urllib.parse import quote, quote_plus

from leafspan.errors import InvalidArgument, MissingExtra, QueryFailed
from leafspan.sources.sql import _sqlite as sqlite
from leafspan.sources.sql._language import dialect_of
from leafspan.sources.sql._timeout import Deadline


def to_engine(thing: object, timeout: float) -> tuple[Any, bool]:
    """Return an engine, and whether the user passed it instead of a URL."""
    try:
        from sqlalchemy.engine import URL, Engine, make_url
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError as error:
        raise MissingExtra.of("SQL needs SQLAlchemy", "sql") from error
    if isinstance(thing, Engine):
        _check_engine(thing)
        return thing, True
    if not isinstance(thing, str | URL):
        raise InvalidArgument(
            f"database must be a URL such as 'sqlite:///shop.db', or SQLAlchemy's Engine, got {type(thing).__name__}"
        )
    problem = ""
    try:
        return _engine_of(make_url(thing), timeout), False
    except (ArgumentError, NoSuchModuleError) as error:  # the error may show the password
        problem = type(error).__name__
    raise InvalidArgument(
        f"database must be a URL that SQLAlchemy knows, such as 'sqlite:///shop.db', got another one ({problem})"
    )


def _check_engine(engine: Any) -> None:
    from sqlalchemy.pool import SingletonThreadPool

    _check_blocking(engine.dialect)
    shared = "cache=shared" in str(engine.url)
    if isinstance(engine.pool, SingletonThreadPool) and not shared:
        raise InvalidArgument(
            "a database of SQLite in memory must be visible to all threads: create its engine with "
            'poolclass=StaticPool, connect_args={"check_same_thread": False}'
        )


def _check_blocking(dialect: Any) -> None:
    if dialect.is_async:
        raise InvalidArgument(
            f"database must have a blocking driver, got {dialect.driver}: its queries are run in threads, and never block "
            "an event loop"
        )


def _engine_of(url: Any, timeout: float) -> Any:
    """An engine for a URL, which keeps no connections."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    dialect = dialect_of(url.get_backend_name())
    options: dict[str, Any] = {"poolclass": NullPool}
    if dialect != "sqlite":
        arguments = connect_arguments(url.get_dialect().driver, timeout)
        options["connect_args"] = {name: value for name, value in arguments.items() if name not in url.query}
    try:
        engine = create_engine(url, **options)
    except ImportError as error:
        raise MissingExtra(
            f"the driver of the database is not installed: pip install {error.name or 'its package'}"
        ) from None
    _check_blocking(engine.dialect)
    if dialect == "sqlite":
        [path], options_of_url = engine.dialect.create_connect_args(url)
        if path in ("", ":memory:") or "mode=memory" in path:
            raise InvalidArgument(
                "a database in memory is empty when it is opened again: pass an Engine with "
                'poolclass=StaticPool, connect_args={"check_same_thread": False}'
            )
        creator = sqlite.read_only_creator(path, {name: value for name, value in options_of_url.items() if name != "uri"})
        engine = create_engine(url, creator=creator, **options)
    return engine


def engine_over(connection: Any) -> Any:
    """An engine that uses one SQLite connection."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    return create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)


def connect_arguments(driver: str, seconds: float) -> dict[str, Any]:
    """A driver's options that limit the time for connecting and reading; empty for an unknown driver."""
    if driver == "pg8000":
        return {"timeout": seconds}
    whole = max(1, ceil(seconds))
    has_timeouts = driver in ("psycopg", "psycopg2")
    return {"connect_timeout": max(2, whole), "tcp_user_timeout": 1000 * whole} if has_timeouts else {}


def with_transactions(connection: Any) -> Any:
    """A connection whose statements run in a transaction, even if the engine is set to AUTOCOMMIT."""
    if connection.dialect.name == "postgresql":
        return connection.execution_options(isolation_level="READ COMMITTED")
    return connection


def restrict_server(connection: Any, deadline: Deadline) -> None:
    """Begin a transaction that is read-only and limited in time.

    All settings are for this transaction only, since a proxy may pass the session to another client afterwards.
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


LARGEST_RESULT = 100_000_000  # characters of texts and bytes of binary values, in all rows together
_AT_ONCE = 20


def fetch_rows(result: Any, most: int) -> list[Any]:
    """Return the first rows of a result."""
    rows: list[Any] = []
    size = 0
    while len(rows) < most and (some := result.fetchmany(min(_AT_ONCE if rows else 1, most - len(rows)))):
        size += sum(_size(value) for row in some for value in row)
        if size > LARGEST_RESULT:
            raise QueryFailed(
                f"the rows of a query must have at most {LARGEST_RESULT} characters and bytes together, got {size} in the "
                f"first {len(rows) + len(some)} rows: ask for fewer rows, or for parts of long values"
            )
        rows += some
    return rows


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    if isinstance(value, memoryview):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(_size(key) + _size(each) for key, each in value.items())
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return 1


_HIDDEN = "***"
_PAIR = re.compile(r"(?i)\b(\w*(?:password|passwd|pwd|secret|token|api_?key))(\s*[=:]\s*)('[^']*'|\"[^\"]*\"|[^\s;,&)]+)")
_IN_ADDRESS = re.compile(r"(?<=://)([^\s:/@]*):([^\s@]+)@")
_SECRET = re.compile(r"(?i)password|passwd|pwd|secret|token|key")


def secrets_of(url: Any) -> tuple[str, ...]:
    """The secrets in a database's URL: its password, and options whose names sound like passwords."""
    secrets: list[str] = [] if url.password is None else [str(url.password)]
    for name, value in url.query.items():
        if _SECRET.search(name):
            secrets += [value] if isinstance(value, str) else value
    return tuple(secret for secret in secrets if secret)


def without_secrets(message: str, secrets: Iterable[str]) -> str:
    """The message without secrets: neither the known ones nor anything that looks like one."""
    for secret in sorted(secrets, key=len, reverse=True):
        for form in {secret, quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1]}:
            message = message.replace(form, _HIDDEN)
    message = _IN_ADDRESS.sub(rf"\1:{_HIDDEN}@", message)
    return _PAIR.sub(rf"\1\2{_HIDDEN}", message)


def safe_address(url: Any) -> str:
    """The URL of a database without its secrets, for messages and ``repr``."""
    kept = {name: value for name, value in url.query.items() if not _SECRET.search(name)}
    return str(url.set(query=kept).render_as_string(hide_password=True))
