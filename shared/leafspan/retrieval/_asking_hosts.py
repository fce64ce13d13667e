"""Asking a retriever of a host, whose failure becomes an error of ours."""

from __future__ import annotations

from typing import Any

from leafspan.checks import shown
from leafspan.errors import LeafspanError, SourceFailed
from leafspan.flows import Call
from leafspan.strategies import AskHost


def ask_call(request: AskHost) -> Call:
    """The call that asks a host's retriever a question.

    Raises:
        SourceFailed: when it is made, in place of any Exception of the retriever's, which is its cause.
    """

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
