"""Runs the requests of a query for ``retrieve_frame``, which does not retrieve passages."""

from __future__ import annotations

from typing import Any, TypeVar

from leafspan.flows import Call, Flow
from leafspan.strategies import CallFunction, Generate, StrategyFlow

T = TypeVar("T")


def as_flow(requests: StrategyFlow[T]) -> Flow[T]:
    """Turn a flow of requests into a flow of the calls that answer them."""
    answer: Any = None
    while True:
        try:
            request = requests.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        if isinstance(request, CallFunction):
            answer = yield Call(request.function, request.arguments, native=request.native)
        else:
            assert isinstance(request, Generate)
            try:
                answer = [(yield Call(request.generate, request.prompts, native=request.agenerate))]
            except Exception as error:
                answer = [error]
