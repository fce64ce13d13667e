"""Opens a database for one query, and returns its answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from leafspan.errors import DatabaseUnavailable, LeafspanError, QueryFailed, RefusedQuery
from leafspan.sources.sql import _sqlite as sqlite
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._attributes import check_attributes, check_own_types
from leafspan.sources.sql._engines import (
    engine_over,
    fetch_rows,
    restrict_server,
    safe_address,
    secrets_of,
    to_engine,
    with_transactions,
    without_secrets,
)
from leafspan.sources.sql._guard import Checked, Guard, Source
from leafspan.sources.sql._language import dialect_of, language
from leafspan.sources.sql._rows import Rows, different_names
from leafspan.sources.sql._schema import Table, describe, read_tables
from leafspan.sources.sql._timeout import Deadline, within

T = TypeVar("T")

_SCHEMA_SECONDS = 300.0
# The driver fetches few rows at a time, since rows may be large. A % in the query is not a placeholder.
_STREAMED = {"stream_results": True, "max_row_buffer": 20, "no_parameters": True}
_DENIED = ("not authorized", "is prohibited", "prohibited")


class Database:
    """A database for reading only. Each query has its own connection, which is closed afterwards.

    The connection leaves the pool of a given engine, so that no setting made here stays in the pool. A SQLite database in
    memory has only one connection, so that each query uses a copy of the database.
    """

    def __init__(self, engine: Any, *, is_shared: bool, timeout: float = 30.0) -> None:
        self.dialect = dialect_of(engine.dialect.name)
        self.address = safe_address(engine.url)
        self._engine = engine
        self._is_shared = is_shared
        self._timeout = timeout
        self._secrets = secrets_of(engine.url)
        self._process = os.getpid()
        self._reading_schema = threading.Lock()
        self._schemas: dict[object, tuple[float, str]] = {}
        language(self.dialect)  # now, so that a missing extra fails where the strategy is made

    def __repr__(self) -> str:
        return f"Database({self.address!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Database) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        """What equal databases share: the given engine, or the URL."""
        return (id(self._engine),) if self._is_shared else (self._engine.url, self._timeout)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the URL. Unpickling opens the database again."""
        if self._is_shared or self._secrets:
            why = "its Engine belongs to one process" if self._is_shared else "its URL has a password"
            raise TypeError(
                f"the database {self.address} cannot be pickled or copied, and neither can its strategy, since {why}: "
                "make the strategy again where it is needed"
            )
        return Database.of, (str(self._engine.url), self._timeout)

    @classmethod
    def of(cls, thing: object, timeout: float) -> Database:
        """Make a database of a URL or an Engine."""
        if isinstance(thing, Database):
            return thing
        engine, is_shared = to_engine(thing, timeout)
        return cls(engine, is_shared=is_shared, timeout=timeout)

    def run(
        self, query: Checked, limit: int, deadline: Deadline, allowed: Allowed | None, functions: Collection[str] = ()
    ) -> Rows:
        """Return the rows of a query that passed the check."""
        sql = query.sql

        def work(connection: Any) -> Rows:
            table, key = _primary_key(connection, query.source) if self.dialect == "sqlite" else ("", ())
            if self.dialect == "sqlite":
                driver = sqlite.check_driver(connection.connection.dbapi_connection)
                sqlite.restrict(driver, deadline, allowed, functions, _common_tables(sql))
            else:
                restrict_server(connection, deadline)
                check_attributes(connection, query.attributes)
                check_own_types(connection, query.types)
                table, key = _primary_key(connection, query.source)
            with connection.exec_driver_sql(sql, execution_options=_STREAMED) as result:
                rows = fetch_rows(result, limit + 1)
                columns = different_names(list(result.keys()))
            places = query.source.key_columns(key, columns) if query.source and key else None
            kept = tuple(tuple(row) for row in rows[:limit])
            return Rows(sql, columns, kept, cut=len(rows) > limit, table=table, key=places)

        return self.use(work, deadline, sql)

    def schema(self, allowed: Allowed | None, sample_rows: int, timeout: float, *, fresh: bool = False) -> str:
        """Describe the database's tables for a language model. The description is read again after five minutes."""
        key = (tuple(allowed.columns.items()) if allowed else None, sample_rows)
        with self._reading_schema:
            made, text = self._schemas.get(key, (-_SCHEMA_SECONDS, ""))
        if not fresh and time.monotonic() - made < _SCHEMA_SECONDS:
            return text

        deadline = Deadline.after(timeout)

        def work(connection: Any) -> list[Table]:
            if self.dialect != "sqlite":
                restrict_server(connection, deadline)
            return [table for table in read_tables(connection, allowed, self._quote) if self._may_read(table, allowed)]

        tables = self.use(work, deadline)

        def samples(table: Table) -> Sequence[Sequence[Any]]:
            if not sample_rows or not table.columns or deadline.over:
                return ()
            query = language(self.dialect).select([column.name for column in table.columns], table.name)
            try:
                checked = Guard(dialect=self.dialect, allowed=allowed, row_limit=sample_rows).check(query)
                return self.run(checked, sample_rows, deadline, allowed).rows
            except (RefusedQuery, QueryFailed):
                return ()  # a table that cannot be read must not keep others from being read

        text = describe(tables, samples, self._quote)
        with self._reading_schema:
            self._schemas[key] = (time.monotonic(), text)
        return text

    def _quote(self, name: str) -> str:
        """Quote a name if a query needs the quotes. SQLAlchemy alone would double a % within quotes."""
        plain = self._engine.dialect.identifier_preparer.quote(name) == name
        return name if plain else language(self.dialect).quoted(name)

    def _may_read(self, table: Table, allowed: Allowed | None) -> bool:
        """Whether the check lets a query read this table. The language model's schema shows only such tables."""
        try:
            Guard(dialect=self.dialect, allowed=allowed).check(language(self.dialect).select((), table.name))
        except RefusedQuery:
            return False
        return True

    def use(self, work: Callable[[Any], T], deadline: Deadline, sql: str = "") -> T:
        """Return the result of ``work`` with an open connection, which is rolled back and closed afterwards."""
        connected = threading.Event()

        def attempt() -> T:
            with self._connected() as connection:
                connected.set()
                return work(connection)

        failure: LeafspanError
        try:
            return within(deadline, attempt)
        except LeafspanError as error:
            if connected.is_set() or not isinstance(error, QueryFailed):
                raise
            failure = DatabaseUnavailable(f"the database {self.address} did not take a connection: {error}")
        except Exception as error:
            failure = self._in_words(error, deadline, sql, connected=connected.is_set())
        # Without "from error": the driver's error may show the password.
        failure.__context__ = None
        raise failure

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        if self._is_shared and self._process != os.getpid():
            self._engine.dispose(close=False)  # the connections belong to the process that was forked
            self._process = os.getpid()
        connection = self._engine.connect()
        copy: Any = None
        try:
            if self._is_shared and self.dialect == "sqlite":
                driver = sqlite.check_driver(connection.connection.dbapi_connection)
                if sqlite.is_in_memory(driver):
                    copy = sqlite.copy_in_memory(driver)
                    connection.close()
                    connection = engine_over(copy).connect()
            connection = with_transactions(connection)
            if self._is_shared and copy is None:
                connection.detach()
            yield connection
        finally:
            with suppress(Exception):  # the connection is broken; its first error is the one to raise
                connection.rollback()
            with suppress(Exception):
                connection.close()
            if copy is not None:
                copy.close()

    def _in_words(self, error: Exception, deadline: Deadline, sql: str, *, connected: bool) -> LeafspanError:
        """Turn an error of the database or its driver into an error of leafspan, without secrets."""
        original = getattr(error, "orig", None) or error
        message = without_secrets(_message(original), self._secrets) or type(original).__name__
        if not connected or getattr(error, "connection_invalidated", False):
            return DatabaseUnavailable(f"the database {self.address} cannot be reached: {message}")
        late = "statement timeout" in message or "lock timeout" in message or "interrupted" in message
        if late or (deadline.over and "locked" in message):
            return deadline.missed
        of = f"; the query was {sql}" if sql else ""
        if self.dialect == "sqlite" and any(word in message for word in _DENIED):
            return RefusedQuery(f"a query may only read what is allowed, and the database says: {message}{of}")
        return QueryFailed(f"the database gave an error: {message}{of}")


def _primary_key(connection: Any, source: Source | None) -> tuple[str, Sequence[str]]:
    """The table's name and its primary key's columns, or ("", ()) if the table has no primary key."""
    from sqlalchemy import inspect
    from sqlalchemy.exc import NoSuchTableError

    if source is None:
        return "", ()
    try:
        key = inspect(connection).get_pk_constraint(source.table, schema=source.schema)
    except (NoSuchTableError, NotImplementedError):  # perhaps a view; if the table is missing, the query itself will fail
        return "", ()
    return source.table, tuple(key.get("constrained_columns") or ())


def _message(error: object) -> str:
    """The text of a database's error. PostgreSQL's keeps the message and the hint, without the query's line."""
    details = getattr(error, "diag", None)
    parts = [getattr(details, name, None) for name in ("message_primary", "message_hint")]
    said = [part for part in parts if isinstance(part, str)] or [str(error)]
    return " ".join(" ".join(said).split())


def _common_tables(sql: str) -> set[str]:
    """The names of the query's common table expressions. SQLite does not tell them from views."""
    from sqlglot import exp

    return {each.alias.lower() for each in language("sqlite").parse(sql).find_all(exp.CTE)}
