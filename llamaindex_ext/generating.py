"""A LlamaIndex language model as what writes phrasings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from llama_index.core.llms import LLM

from leafspan import InvalidArgument


class Generating(TypedDict, total=False):
    """The options of a strategy that asks a language model."""

    generate: Callable[[str], str]
    agenerate: Callable[[str], Awaitable[str]]


def as_generate(llm: Any) -> Generating:
    """Options that ask ``llm``; none without one, and never LlamaIndex's default.

    Raises:
        InvalidArgument: if it is no LLM of LlamaIndex's.
    """
    if llm is None:
        return {}
    if not isinstance(llm, LLM):
        raise InvalidArgument(f"llm must be a LlamaIndex LLM, got {llm!r}")

    def generate(prompt: str) -> str:
        return llm.complete(prompt).text

    async def agenerate(prompt: str) -> str:
        return (await llm.acomplete(prompt)).text

    return {"generate": generate, "agenerate": agenerate}
