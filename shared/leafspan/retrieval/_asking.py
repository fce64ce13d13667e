"""Calls users' retrievers and language models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from leafspan.checks import shown
from leafspan.errors import LeafspanError, SourceFailed
from leafspan.flows import Call, Flow
from leafspan.strategies import AskHost, Generate


def ask_call(request: AskHost) -> Call:
    """The call that asks a host's retriever a question."""

    def ask(question: str) -> Any:
        try:
            return request.ask(question)
        except LeafspanError:
            raise
        except Exception as error:
            raise _failed(request, error) from error

    async def aask(question: str) -> Any:
        try:
            return await request.aask(question)
        except LeafspanError:
            raise
        except Exception as error:
            raise _failed(request, error) from error

    native = aask if request.aask is not None else None
    return Call(ask, (request.question,), native=native, what=request.name)


def _failed(request: AskHost, error: Exception) -> SourceFailed:
    message = f"{request.name} failed on {shown(request.question)} with {type(error).__name__}: {error}"
    return SourceFailed.by(message, error)


def generate_texts(request: Generate) -> Flow[list[str | Exception]]:
    """The answer to each prompt, or the Exception that the model raised. An event loop asks all at once."""

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
