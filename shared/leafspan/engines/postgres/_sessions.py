"""Transactions over a pool's connections, written once for blocking and for asynchronous pools."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import nullcontext
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakSet

T = TypeVar("T")

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
    """

    def __init__(self, pool: Any) -> None:
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
                if connection not in self._readied and connection.execute(_HAS_VECTORS).fetchone() != (None,):
                    register_vector(connection)
                    self._readied.add(connection)
                with connection.transaction() if writes else nullcontext():
                    return self._carried_out(connection, steps(*given))
            finally:
                if not connection.closed:
                    connection.autocommit = before

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
                    found = await connection.execute(_HAS_VECTORS)
                    if await found.fetchone() != (None,):
                        await register_vector_async(connection)
                        self._readied.add(connection)
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


_HAS_VECTORS = "SELECT to_regtype('vector')"


def is_lost(error: Exception) -> bool:
    """Whether the connection is lost, as after a restart of the server."""
    from psycopg import OperationalError
    from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

    if not isinstance(error, OperationalError) or isinstance(error, PoolClosed | PoolTimeout | TooManyRequests):
        return False
    return error.sqlstate is None or error.sqlstate in _ENDED
