"""Transactions over a pool's connections, written once for blocking and for asynchronous pools."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import nullcontext
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakSet

from leafspan.errors import InvalidArgument

T = TypeVar("T")

PLACE_OF_VECTORS = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
"""The question for the schema of pgvector."""

_FIND_VECTORS = "SELECT set_config('search_path', %s, true)"  # to the end of the transaction
_ENDED = {"57P01", "57P02", "57P03", "08000", "08003", "08006"}  # SQLSTATEs of a server's shutdown or a lost connection


class Ask(NamedTuple):
    """A statement. Its answer is a list of rows.

    Attributes:
        statement: The statement.
        values: The values for its placeholders.
        many: Whether ``values`` has several sequences of values, and the statement runs once for each.
    """

    statement: Any
    values: Any = ()
    many: bool = False


Steps: TypeAlias = Generator[Ask | list[Ask], list[Any], T]
"""Yields statements, and receives their answers. Statements in a list are sent at once; the answer is the last one's."""


class Sessions:
    """A pool's connections.

    If a connection is lost, the steps run once more on another one: all operations of an engine can be repeated.

    Attributes:
        native: Whether the pool is asynchronous.
        vectors: The prefix of pgvector's names, such as ``"public."``. Empty as long as the database has no pgvector.
    """

    def __init__(self, pool: Any) -> None:
        self.vectors = ""
        self.native = iscoroutinefunction(pool.getconn)
        self._pool = pool
        self._readied: WeakSet[Any] = WeakSet()  # connections that can read and write vectors

    def function(self, *, writes: bool) -> Callable[..., Any]:
        """Return the function that runs steps with its arguments. It is a coroutine function if the pool is asynchronous.

        Steps that write are one transaction.
        """
        return partial(self._awaited if self.native else self._blocking, writes)

    def _blocking(self, writes: bool, steps: Callable[..., Steps[T]], *given: Any) -> T:
        try:
            return self._once(writes, steps, *given)
        except Exception as error:
            if not is_lost(error):
                raise
        self._pool.check()
        return self._once(writes, steps, *given)

    async def _awaited(self, writes: bool, steps: Callable[..., Steps[T]], *given: Any) -> T:
        try:
            return await self._awaited_once(writes, steps, *given)
        except Exception as error:
            if not is_lost(error):
                raise
        await self._pool.check()
        return await self._awaited_once(writes, steps, *given)

    def _once(self, writes: bool, steps: Callable[..., Steps[T]], *given: Any) -> T:
        from pgvector.psycopg import register_vector

        with self._pool.connection() as connection:
            before, connection.autocommit = connection.autocommit, True
            try:
                if connection not in self._readied:
                    _check_encoding(connection)
                    if place := connection.execute(PLACE_OF_VECTORS).fetchone():
                        with connection.transaction():
                            connection.execute(_FIND_VECTORS, place)
                            register_vector(connection)
                        self._ready(connection, *place)
                with connection.transaction() if writes else nullcontext():
                    return self._carried_out(connection, steps(*given))
            finally:
                if not connection.closed:
                    connection.autocommit = before

    def _ready(self, connection: Any, place: str) -> None:
        self.vectors = f"{place}."
        self._readied.add(connection)

    def _carried_out(self, connection: Any, steps: Steps[T]) -> T:
        answer: Any = None  # a generator starts with None
        while True:
            try:
                ask = steps.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(ask, list):
                with connection.pipeline():
                    cursors = [connection.execute(each.statement, each.values) for each in ask]
                    answer = cursors[-1].fetchall()
                continue
            cursor = connection.cursor()
            (cursor.executemany if ask.many else cursor.execute)(ask.statement, ask.values)
            answer = cursor.fetchall() if cursor.description else []

    async def _awaited_once(self, writes: bool, steps: Callable[..., Steps[T]], *given: Any) -> T:
        from pgvector.psycopg import register_vector_async

        async with self._pool.connection() as connection:
            before = connection.autocommit
            await connection.set_autocommit(True)
            try:
                if connection not in self._readied:
                    _check_encoding(connection)
                    if place := await (await connection.execute(PLACE_OF_VECTORS)).fetchone():
                        async with connection.transaction():
                            await connection.execute(_FIND_VECTORS, place)
                            await register_vector_async(connection)
                        self._ready(connection, *place)
                async with connection.transaction() if writes else nullcontext():
                    return await self._awaited_outcome(connection, steps(*given))
            finally:
                if not connection.closed:
                    await connection.set_autocommit(before)

    async def _awaited_outcome(self, connection: Any, steps: Steps[T]) -> T:
        answer: Any = None  # a generator starts with None
        while True:
            try:
                ask = steps.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(ask, list):
                async with connection.pipeline():
                    cursors = [await connection.execute(each.statement, each.values) for each in ask]
                    answer = await cursors[-1].fetchall()
                continue
            cursor = connection.cursor()
            await (cursor.executemany if ask.many else cursor.execute)(ask.statement, ask.values)
            answer = await cursor.fetchall() if cursor.description else []


def statement(text: str, *names: Any, vectors: str = "") -> Any:
    """Return a statement whose braces are replaced by quoted names, and ``{v}`` by pgvector's prefix.

    psycopg would take a % in a name for a placeholder, unless it is doubled.
    """
    from psycopg.sql import SQL

    quoted = [each.as_string(None).replace("%", "%%") for each in names]
    return SQL(text.format(*quoted, v=vectors.replace("%", "%%")))


def _check_encoding(connection: Any) -> None:
    for what, remedy in _REMEDIES.items():
        if (encoding := connection.info.parameter_status(what)) not in ("UTF8", None):
            raise InvalidArgument(f"a database must have the {what} UTF8, got {encoding!r}: {remedy}")


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
