"""A LlamaIndex language model as what writes phrasings."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import LLM

from leafspan import InvalidArgument
from leafspan.hosting import GenerateOptions, from_llamaindex, shown


def as_generate(llm: Any) -> GenerateOptions:
    """Options that ask ``llm``; none without one, and never LlamaIndex's default.

    Raises:
        InvalidArgument: if it is no LLM of LlamaIndex's.
    """
    if llm is None:
        return {}
    if not isinstance(llm, LLM):
        raise InvalidArgument(f"llm must be a LlamaIndex LLM, got {shown(llm)}")
    return from_llamaindex(llm).options
