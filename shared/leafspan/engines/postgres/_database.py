"""A PostgreSQL database: its address, its connections, its errors, and its locks.

Transactions are written once, for blocking and for asynchronous pools.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakSet

from leafspan.checks import check_number
from leafspan.engines._caller import LEAST_SECONDS, Caller, failure, in_one_line, late_answer
from leafspan.errors import InvalidArgument, MissingExtra, StorageFailed, StorageFull, StorageReadOnly, WriterBusy
from leafspan.flows import Call, Flow, in_thread

if TYPE_CHECKING:
    from psycopg.sql import Composed


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


T = TypeVar("T")

PLACE_OF_VECTORS = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
"""The question for the schema of pgvector."""

_FIND_VECTORS = "SELECT set_config('search_path', %s, true)"  # to the end of the transaction
_ENDED = {"57P01", "57P02", "57P03", "08000", "08003", "08006"}  # SQLSTATEs of a server's shutdown or a lost connection


class Ask(NamedTuple):
    """A statement. Its answer is a list of rows."""

    statement: Any
    values: Any = ()  # for its placeholders
    many: bool = False  # whether it runs once for each sequence in ``values``


Steps: TypeAlias = Generator[Ask | list[Ask], list[Any], T]
"""Yields statements, and receives their answers. Statements in a list are sent at once; the answer is the last one's."""


class Sessions:
    """A pool's connections.

    If a connection is lost, the steps run once more on another one: all operations of an engine can be repeated.
    """

    def __init__(self, database: Postgres, timeout: float) -> None:
        native, seconds = iscoroutinefunction(database.pool.getconn), max(timeout, LEAST_SECONDS)
        self.caller = Caller(database.place, native, seconds, translate=translated)
        self.vectors = ""  # the prefix of pgvector's names, such as "public."; empty while the database has no pgvector
        self._database = database
        self._ready: WeakSet[Any] = WeakSet()  # connections that can read and write vectors

    def call(self, doing: str, steps: Callable[..., Steps[Any]], *arguments: Any, finish: bool = False) -> Call:
        """Return the call that runs steps on a connection. With ``finish``, they are one transaction."""
        run = partial(self._run if self.caller.native else self._run_blocking, finish)
        return self.caller.call(doing, run, (steps, *arguments), finish=finish)

    def quoted(self, *names: str) -> Composed:
        """Return the quoted name of something in the schema, or the schema's own name."""
        from psycopg.sql import SQL, Identifier

        return SQL("{}").format(Identifier(self._database.schema, *names))

    def _run_blocking(self, writes: bool, steps: Callable[..., Steps[T]], *arguments: Any) -> T:
        try:
            self._run(writes, steps, *arguments).send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise AssertionError("over a blocking pool, no coroutine waits")

    async def _run(self, writes: bool, steps: Callable[..., Steps[T]], *arguments: Any) -> T:
        try:
            return await self._run_once(writes, steps(*arguments))
        except Exception as error:
            if not is_lost(error):
                raise
        await _result(self._database.pool.check())
        return await self._run_once(writes, steps(*arguments))

    async def _run_once(self, writes: bool, steps: Steps[T]) -> T:
        async with _entered(self._database.pool.connection()) as connection:
            before = connection.autocommit
            await _result(connection.set_autocommit(True))
            try:
                if connection not in self._ready:
                    await self._prepare(connection)
                async with _entered(connection.transaction() if writes else nullcontext()):
                    return await _answer(connection, steps)
            finally:
                if not connection.closed:
                    await _result(connection.set_autocommit(before))

    async def _prepare(self, connection: Any) -> None:
        """Check the encoding, and let the connection read and write vectors."""
        from pgvector.psycopg import register_vector, register_vector_async

        for what, remedy in _REMEDIES.items():
            if (encoding := connection.info.parameter_status(what)) not in ("UTF8", None):
                raise InvalidArgument(f"a database must have the {what} UTF8, got {encoding!r}: {remedy}")
        if place := await _result((await _result(connection.execute(PLACE_OF_VECTORS))).fetchone()):
            async with _entered(connection.transaction()):
                await _result(connection.execute(_FIND_VECTORS, place))
                await _result((register_vector_async if self.caller.native else register_vector)(connection))
            self.vectors = f"{place[0]}."
            self._ready.add(connection)


async def _answer(connection: Any, steps: Steps[T]) -> T:
    rows: Any = None  # a generator starts with None
    while True:
        try:
            ask = steps.send(rows)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if isinstance(ask, list):
            async with _entered(connection.pipeline()):
                cursors = [await _result(connection.execute(each.statement, each.values)) for each in ask]
                rows = await _result(cursors[-1].fetchall())
            continue
        cursor = connection.cursor()
        await _result((cursor.executemany if ask.many else cursor.execute)(ask.statement, ask.values))
        rows = await _result(cursor.fetchall()) if cursor.description else []


async def _result(answer: Any) -> Any:
    """Return what a method of psycopg returns, of a blocking or an asynchronous object."""
    return await answer if isawaitable(answer) else answer


@asynccontextmanager
async def _entered(context: Any) -> AsyncIterator[Any]:
    """Enter a context of psycopg, of a blocking or an asynchronous object."""
    if hasattr(context, "__aenter__"):
        async with context as value:
            yield value
    else:
        with context as value:
            yield value


def statement(text: str, *names: Any, vectors: str = "") -> Any:
    """Return a statement whose braces are replaced by quoted names, and ``{v}`` by pgvector's prefix.

    psycopg would take a % in a name for a placeholder, unless it is doubled.
    """
    from psycopg.sql import SQL

    quoted = [each.as_string(None).replace("%", "%%") for each in names]
    return SQL(text.format(*quoted, v=vectors.replace("%", "%%")))


_REMEDIES = {
    "server_encoding": "make another with CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
    "client_encoding": 'give the pool kwargs={"client_encoding": "UTF8"}',
}


def is_lost(error: Exception) -> bool:
    """Whether the connection is lost, as after a restart of the server."""
    from psycopg import OperationalError
    from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

    if not isinstance(error, OperationalError) or isinstance(error, PoolClosed | PoolTimeout | TooManyRequests):
        return False
    return error.sqlstate is None or error.sqlstate in _ENDED


_MOST = 1_000  # documents that are locked one by one. A server has room for about 6,000 locks of all its writers


class Locks:
    """Advisory locks of one connection. The server releases them when the connection ends, also after a kill.

    Every writer shares a lock on the whole index, and holds one on each of its documents. A writer of unknown documents,
    or of very many, holds the whole index alone.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._connection: Any = None
        self._mutex = threading.Lock()
        self._released: Future[None] | None = None

    def acquire(self, index: str, documents: Sequence[str] | None, timeout: float, what: str) -> Callable[[], None]:
        """Lock documents of an index, or all of them without ``documents``. Call the result to unlock them."""
        from psycopg import Error
        from psycopg.errors import LockNotAvailable

        with self._mutex:
            if self._released is not None:
                self._released.result()
            for is_last in (False, True):
                try:
                    self._lock(index, documents, timeout)
                    break
                except LockNotAvailable as error:
                    self._release()
                    raise WriterBusy(
                        f"another writer has held {what} for more than the timeout of {timeout:g} seconds: wait for it, or "
                        "open the index with a longer timeout; if it hangs, end it"
                    ) from error
                except Error as error:
                    self._drop()
                    if is_last or not is_lost(error):
                        raise
        return self.release

    def _lock(self, index: str, documents: Sequence[str] | None, timeout: float) -> None:
        connection = self._connected()
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{max(1, round(timeout * 1000))}ms",))
        if documents is None or len(documents) > _MOST:
            connection.execute("SELECT pg_advisory_lock(%s)", (_number(index, 8),))
            return
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (_number(index, 8),))
        # Sorted, so that two writers never wait for each other.
        numbers = sorted({_number(each, 4) for each in documents})
        statement = "SELECT pg_advisory_lock(%s, each) FROM unnest(%s::int[]) AS each"
        connection.execute(statement, (_number(index, 4), numbers))

    def release(self) -> None:
        """Release the locks without waiting for the server: the next ``acquire`` waits."""
        self._released = in_thread(self._release)

    def _release(self) -> None:
        try:
            self._connection.execute("SELECT pg_advisory_unlock_all()")
        except Exception:  # the server releases them with the connection
            self._drop()

    def close(self) -> None:
        with self._mutex:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> Any:
        import psycopg

        if self._connection is None or self._connection.closed:
            address, options = (each() if callable(each) else each for each in (self._pool.conninfo, self._pool.kwargs))
            self._connection = psycopg.connect(address or "", **{**(options or {}), "autocommit": True})
        return self._connection


def _number(text: str, size: int) -> int:
    """Hash a text to a whole number of ``size`` bytes."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest(), "big", signed=True)
