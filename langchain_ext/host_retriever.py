"""A LangChain retriever as the base of a strategy."""

from __future__ import annotations

from numbers import Real
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable

from leafspan import HostRetriever, InvalidArgument, Strategy
from leafspan.hosting import HostResult, check_base_retriever, shown


def as_strategy(
    thing: Any, child: BaseCallbackManager | None = None, *, name: str = "base", elsewhere: bool = False
) -> Strategy:
    """The strategy as it is, or a LangChain retriever as one.

    Args:
        thing: The strategy or retriever, or any other Runnable from a question to Documents, such as a retriever
            ``with_fallbacks``, or a chain that ends with one.
        child: Callbacks to call the retriever with.
        name: What it is called in errors.
        elsewhere: Whether it is a retriever of ours over another index.

    Raises:
        InvalidArgument: if it is neither.
    """
    if not isinstance(thing, Runnable) or isinstance(thing, BaseLanguageModel):
        return check_base_retriever(name, thing, "LangChain")
    config: Any = {"callbacks": child}
    called = type(thing).__name__ if isinstance(thing, BaseRetriever) else thing.get_name()

    def ask(question: str) -> list[HostResult]:
        return _results(called, thing.invoke(question, config))

    async def aask(question: str) -> list[HostResult]:
        return _results(called, await thing.ainvoke(question, config))

    return HostRetriever(called, ask, aask, elsewhere)


def _results(called: str, returned: Any) -> list[HostResult]:
    """What a retriever returned.

    Raises:
        InvalidArgument: if it is no list of Documents.
    """
    if not isinstance(returned, list | tuple):
        raise InvalidArgument(f"{called} must return a list of LangChain Documents, got {shown(returned)}")
    for each in returned:
        if not isinstance(each, Document):
            raise InvalidArgument(f"{called} must return a list of LangChain Documents, got one of {shown(each)}")
    return [_result(document) for document in returned]


def _result(document: Document) -> HostResult:
    score = document.metadata.get("score")
    own = float(score) if isinstance(score, Real) else None
    return HostResult(document.id, document.page_content, own, document.metadata, origin=document)
