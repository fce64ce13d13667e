"""A database: how it is opened for one query, and what it answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from leafspan.checks import shown
from leafspan.errors import InvalidArgument, LeafspanError, MissingExtra, QueryFailed, RefusedQuery
from leafspan.sql import _sqlite as sqlite
from leafspan.sql._allowed import Allowed
from leafspan.sql._drivers import connect_arguments
from leafspan.sql._language import dialect_of, language
from leafspan.sql._rows import Rows, different_names
from leafspan.sql._secrets import safe_address, secrets_of, without_secrets
from leafspan.sql._servers import restrict_server
from leafspan.sql._timeout import Deadline, within

T = TypeVar("T")

_DENIED = ("not authorized", "is prohibited", "prohibited")


class Database:
    """A database that is only read. Each query has a connection of its own, which is closed afterwards.

    A connection is taken out of the pool of an engine that was given, so that nothing that is set on it can stay in the
    pool. A database of SQLite in memory is copied for each query instead, since it lives in one connection.

    Attributes:
        dialect: Name of its dialect in sqlglot.
        address: Its URL without secrets.
    """

    def __init__(self, engine: Any, *, given: bool) -> None:
        self.dialect = dialect_of(engine.dialect.name)
        self.address = safe_address(engine.url)
        self._engine = engine
        self._given = given
        self._secrets = secrets_of(engine.url)
        self._process = os.getpid()
        language(self.dialect)  # now, so that a missing extra is an error where the strategy is made

    def __repr__(self) -> str:
        return f"Database({self.address!r})"

    @classmethod
    def of(cls, thing: object, timeout: float) -> Database:
        """A database from what a user has.

        Args:
            thing: URL as text or of SQLAlchemy, an Engine, or a Database.
            timeout: Seconds that connecting may take.

        Raises:
            MissingExtra: if SQLAlchemy, or the driver that a URL names, is not installed.
            InvalidArgument: if it is anything else, or cannot be read in another thread.
        """
        if isinstance(thing, Database):
            return thing
        try:
            from sqlalchemy.engine import URL, Engine, make_url
            from sqlalchemy.exc import ArgumentError, NoSuchModuleError
        except ImportError as error:
            raise MissingExtra('SQL needs SQLAlchemy: pip install "leafspan[sql]"') from error
        if isinstance(thing, Engine):
            _check_engine(thing)
            return cls(thing, given=True)
        if not isinstance(thing, str | URL):
            raise InvalidArgument(
                f"database must be a URL such as 'sqlite:///shop.db', or an Engine of SQLAlchemy, got {type(thing).__name__}"
            )
        problem = ""
        try:
            return cls(_engine_of(make_url(thing), timeout), given=False)
        except (ArgumentError, NoSuchModuleError) as error:  # which may show the password
            problem = type(error).__name__
        raise InvalidArgument(
            f"database must be a URL that SQLAlchemy knows, such as 'sqlite:///shop.db', got another one ({problem})"
        )

    def run(self, sql: str, limit: int, timeout: float, allowed: Allowed | None, functions: Collection[str]) -> Rows:
        """The rows of a query that was checked.

        Args:
            sql: SQL that a ``Guard`` has written.
            limit: Most rows, >= 1.
            timeout: Seconds that connecting, running and fetching may take together.
            allowed: What the query may read, None for everything.
            functions: Functions that are allowed beside the harmless ones.

        Raises:
            QueryFailed: if the database is not there, is late, or gives an error.
            RefusedQuery: if it finds that the query reads what is not allowed.
        """
        deadline = Deadline.after(timeout)

        def work(connection: Any) -> Rows:
            if self.dialect == "sqlite":
                driver = sqlite.check_driver(connection.connection.dbapi_connection)
                sqlite.restrict(driver, deadline, allowed, functions, _common_tables(sql))
            else:
                restrict_server(connection, deadline)
            reading = connection.execution_options(stream_results=True, max_row_buffer=limit + 1, no_parameters=True)
            result = reading.exec_driver_sql(sql)
            rows = result.fetchmany(limit + 1)
            columns = different_names(list(result.keys()))
            return Rows(sql, columns, tuple(tuple(row) for row in rows[:limit]), cut=len(rows) > limit)

        return self.use(work, deadline, sql)

    def use(self, work: Callable[[Any], T], deadline: Deadline, sql: str = "") -> T:
        """What ``work`` returns for an open connection, which is rolled back and closed afterwards.

        Args:
            work: Function of a connection of SQLAlchemy.
            deadline: When to give up.
            sql: The query, for errors.

        Raises:
            QueryFailed: if the database is not there, is late, or gives an error.
            RefusedQuery: if it finds that the query reads what is not allowed.
        """

        def attempt() -> T:
            with self._connected() as connection:
                return work(connection)

        failure: LeafspanError
        try:
            return within(deadline, attempt)
        except LeafspanError:
            raise
        except Exception as error:
            failure = self._in_words(error, deadline, sql)
        # Not from the error of the driver, which may show the password.
        failure.__context__ = None
        raise failure

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        if self._given and self._process != os.getpid():
            self._engine.dispose(close=False)  # connections of the process that this one was forked from
            self._process = os.getpid()
        connection = self._engine.connect()
        copy: Any = None
        try:
            if self._given and self.dialect == "sqlite":
                driver = sqlite.check_driver(connection.connection.dbapi_connection)
                if sqlite.is_in_memory(driver):
                    copy = sqlite.copy_in_memory(driver)
                    connection.close()
                    connection = _engine_over(copy).connect()
            if self._given and copy is None:
                connection.detach()
            yield connection
        finally:
            with suppress(Exception):  # of a connection that is broken; its first error counts
                connection.rollback()
            with suppress(Exception):
                connection.close()
            if copy is not None:
                copy.close()

    def _in_words(self, error: Exception, deadline: Deadline, sql: str) -> LeafspanError:
        """An error of the database or of its driver as one of ours, without secrets."""
        original = getattr(error, "orig", None) or error
        message = without_secrets(" ".join(str(original).split()), self._secrets) or type(original).__name__
        late = "statement timeout" in message or "lock timeout" in message or "interrupted" in message
        if late or (deadline.over and "locked" in message):
            return deadline.missed
        of = f"; the query was {sql}" if sql else ""
        if self.dialect == "sqlite" and any(word in message for word in _DENIED):
            return RefusedQuery(f"a query may only read what is allowed, and the database says: {message}{of}")
        return QueryFailed(f"the database {self.address} gave an error: {message}{of}")


def _common_tables(sql: str) -> set[str]:
    """The names of the common table expressions of a query, which SQLite does not tell from views."""
    from sqlglot import exp

    return {each.alias.lower() for each in language("sqlite").parse(sql).find_all(exp.CTE)}


def _check_engine(engine: Any) -> None:
    from sqlalchemy.pool import SingletonThreadPool

    _check_blocking(engine.dialect)
    shared = "cache=shared" in str(engine.url)
    if isinstance(engine.pool, SingletonThreadPool) and not shared:
        raise InvalidArgument(
            "a database of SQLite in memory must be seen by all threads: create its engine with "
            'poolclass=StaticPool, connect_args={"check_same_thread": False}'
        )


def _check_blocking(dialect: Any) -> None:
    if dialect.is_async:
        raise InvalidArgument(
            f"database must have a blocking driver, got {dialect.driver}: its queries are run in threads, and never block "
            "an event loop"
        )


def _engine_of(url: Any, timeout: float) -> Any:
    """An engine of our own, which keeps no connections."""
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
        raise MissingExtra(f"the driver of the database is not installed: pip install {error.name or 'its package'}") from None
    _check_blocking(engine.dialect)
    if dialect == "sqlite":
        [path], arguments = engine.dialect.create_connect_args(url)
        if path in ("", ":memory:") or "mode=memory" in path:
            raise InvalidArgument(
                "a database in memory is empty when it is opened anew: pass an Engine with "
                'poolclass=StaticPool, connect_args={"check_same_thread": False}'
            )
        arguments.pop("uri", None)
        engine = create_engine(url, creator=sqlite.read_only_creator(path, arguments), **options)
    return engine


def _engine_over(connection: Any) -> Any:
    """An engine over one connection of SQLite."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    return create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
