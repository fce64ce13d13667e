"""Calls of a user's function that may fail, without ending the retrieval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.strategies._requests import CallFunction, StrategyFlow


def call_for_each(
    function: Callable[..., Any],
    native: Callable[..., Awaitable[Any]] | None,
    jobs: Sequence[tuple[Any, ...]],
    keys: Sequence[Hashable],
) -> StrategyFlow[list[Any]]:
    """What a function returns for each of several arguments, or the Exception that it raised. In an event loop all at once.

    Args:
        function: The function.
        native: Its coroutine function.
        jobs: The arguments of each call.
        keys: What tells each call apart from others of the function in this retrieval.

    Raises:
        InvalidArgument: if the function raised it.
    """

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            return error

    async def acall(*arguments: Any) -> Any:
        assert native is not None
        try:
            return await native(*arguments)
        except Exception as error:
            return error

    requests = tuple(
        CallFunction(call, job, native=acall if native else None, key=(id(function), key))
        for job, key in zip(jobs, keys, strict=True)
    )
    answers: list[Any] = (yield requests) if requests else []
    for answer in answers:
        if isinstance(answer, InvalidArgument):
            raise answer
    return answers
