"""A LangChain language model as what writes phrasings."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import Runnable

from leafspan import InvalidArgument
from leafspan.hosting import GenerateOptions, from_langchain, shown


def as_generate(llm: Any, child: BaseCallbackManager | None = None) -> GenerateOptions:
    """Options that ask ``llm``, with the callbacks ``child``; none without one.

    Raises:
        InvalidArgument: if it is no Runnable.
    """
    if llm is None:
        return {}
    if not isinstance(llm, Runnable):
        raise InvalidArgument(f"llm must be a Runnable from a prompt to a message or a text, got {shown(llm)}")
    return from_langchain(llm, {"callbacks": child}).options
