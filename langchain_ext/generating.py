"""A LangChain language model as what writes phrasings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from leafspan import InvalidArgument


class Generating(TypedDict, total=False):
    """The options of a strategy that asks a language model."""

    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]]


def as_generate(llm: Any, child: BaseCallbackManager | None = None) -> Generating:
    """Options that ask ``llm``, with the callbacks ``child``; none without one.

    Raises:
        InvalidArgument: if it is no Runnable.
    """
    if llm is None:
        return {}
    if not isinstance(llm, Runnable):
        raise InvalidArgument(f"llm must be a Runnable from a prompt to a message or a text, got {llm!r}")
    config: Any = {"callbacks": child}

    def generate(prompt: str) -> str:
        return _text(llm.invoke(prompt, config))

    async def agenerate(prompt: str) -> str:
        return _text(await llm.ainvoke(prompt, config))

    return {"generate": generate, "agenerate": agenerate}


def _text(answer: Any) -> str:
    text: str = answer.text if isinstance(answer, BaseMessage) else answer
    return text
