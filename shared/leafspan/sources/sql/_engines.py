"""Makes SQLAlchemy engines from a URL, or takes the user's own."""

from __future__ import annotations

from typing import Any

from leafspan.errors import InvalidArgument, MissingExtra
from leafspan.sources.sql import _sqlite as sqlite
from leafspan.sources.sql._language import dialect_of
from leafspan.sources.sql._servers import connect_arguments


def to_engine(thing: object, timeout: float) -> tuple[Any, bool]:
    """Return an engine, and whether the user passed it instead of a URL.

    Raises:
        MissingExtra: if SQLAlchemy, or the driver that a URL names, is not installed.
        InvalidArgument: if the database is anything else, or cannot be read in another thread.
    """
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
        [path], found = engine.dialect.create_connect_args(url)
        if path in ("", ":memory:") or "mode=memory" in path:
            raise InvalidArgument(
                "a database in memory is empty when it is opened again: pass an Engine with "
                'poolclass=StaticPool, connect_args={"check_same_thread": False}'
            )
        creator = sqlite.read_only_creator(path, {name: value for name, value in found.items() if name != "uri"})
        engine = create_engine(url, creator=creator, **options)
    return engine


def engine_over(connection: Any) -> Any:
    """An engine that uses one SQLite connection."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    return create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
