"""Transactions over the connections of a pool, written once for pools that block and for pools that are awaited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_ENDED = {"57P01", "57P02", "57P03", "08000", "08003", "08006"}  # states of a server that ends, or of a lost connection


class Ask(NamedTuple):
    """A statement of a transaction. Its answer is a list of rows.

    Attributes:
        statement: The statement.
        values: The values for its placeholders.
        many: Whether ``values`` has a sequence of values for each time that the statement is to be carried out.
    """

    statement: Any
    values: Sequence[Any] = ()
    many: bool = False


Steps: TypeAlias = Generator[Ask, list[Any], T]
"""A transaction: what yields statements, and gets their answers."""


class Sessions:
    """The connections of a pool.

    A transaction whose connection is lost is carried out once more on another connection: every transaction of an engine
    can be repeated.

    Attributes:
        native: Whether the pool is awaited.
        carry_out: Carries out the transaction of a function, called with these arguments. A coroutine function, if the pool
            is awaited.
    """

    def __init__(self, pool: Any) -> None:
        self.native = iscoroutinefunction(pool.getconn)
        self.carry_out: Callable[..., Any] = self._awaited if self.native else self._blocking
        self._pool = pool
        self._readied: WeakSet[Any] = WeakSet()  # connections that read and write vectors

    def _blocking(self, steps: Callable[..., Steps[T]], *given: Any) -> T:
        try:
            return self._once(steps, *given)
        except Exception as error:
            if not is_lost(error):
                raise
        self._pool.check()
        return self._once(steps, *given)

    async def _awaited(self, steps: Callable[..., Steps[T]], *given: Any) -> T:
        try:
            return await self._awaited_once(steps, *given)
        except Exception as error:
            if not is_lost(error):
                raise
        await self._pool.check()
        return await self._awaited_once(steps, *given)

    def _once(self, steps: Callable[..., Steps[T]], *given: Any) -> T:
        from pgvector.psycopg import register_vector

        with self._pool.connection() as connection:
            transaction = self._transaction(connection, steps, *given)
            answer: list[Any] = []
            try:
                next(transaction)
                while True:
                    ask = transaction.send(answer)
                    cursor = connection.cursor()
                    if ask is _REGISTER:
                        register_vector(connection)
                    else:
                        (cursor.executemany if ask.many else cursor.execute)(ask.statement, ask.values)
                    answer = cursor.fetchall() if cursor.description else []
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    async def _awaited_once(self, steps: Callable[..., Steps[T]], *given: Any) -> T:
        from pgvector.psycopg import register_vector_async

        async with self._pool.connection() as connection:
            transaction = self._transaction(connection, steps, *given)
            answer: list[Any] = []
            try:
                next(transaction)
                while True:
                    ask = transaction.send(answer)
                    cursor = connection.cursor()
                    if ask is _REGISTER:
                        await register_vector_async(connection)
                    else:
                        await (cursor.executemany if ask.many else cursor.execute)(ask.statement, ask.values)
                    answer = await cursor.fetchall() if cursor.description else []
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def _transaction(self, connection: Any, steps: Callable[..., Steps[T]], *given: Any) -> Steps[T]:
        yield _BEGIN
        if connection not in self._readied and (yield _HAS_VECTORS) != [(None,)]:
            yield _REGISTER
            self._readied.add(connection)
        return (yield from steps(*given))


_HAS_VECTORS = Ask("SELECT to_regtype('vector')")
_REGISTER = Ask(None)
_BEGIN = Ask("")


def is_lost(error: Exception) -> bool:
    """Whether the connection is no longer there, as after the server was started again."""
    from psycopg import OperationalError
    from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

    if not isinstance(error, OperationalError) or isinstance(error, PoolClosed | PoolTimeout | TooManyRequests):
        return False
    return error.sqlstate is None or error.sqlstate in _ENDED
