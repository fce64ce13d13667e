"""Asking a language model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from leafspan.flows import Call, Flow
from leafspan.strategies import Generate


def generate_texts(request: Generate) -> Flow[list[str | Exception]]:
    """The answer to each prompt, or the Exception that came instead. In an event loop all are asked at once."""

    def ask(prompt: str) -> str | Exception:
        try:
            return request.generate(prompt)
        except Exception as error:
            return error

    async def aask(prompt: str, agenerate: Callable[[str], Awaitable[str]]) -> str | Exception:
        try:
            return await agenerate(prompt)
        except Exception as error:
            return error

    def native(prompt: str) -> Awaitable[str | Exception]:
        assert request.agenerate is not None
        return aask(prompt, request.agenerate)

    options: dict[str, Any] = {"native": native if request.agenerate else None, "what": "the language model"}
    calls = [Call(ask, (prompt,), **options) for prompt in request.prompts]
    answers: list[str | Exception] = yield calls
    return answers
