"""A LangChain retriever as the base of a strategy."""

from __future__ import annotations

from numbers import Real
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from leafspan import HostRetriever, Strategy
from leafspan.hosting import HostResult, check_base_retriever


def as_strategy(
    thing: Any, child: BaseCallbackManager | None = None, *, name: str = "base", elsewhere: bool = False
) -> Strategy:
    """The strategy as it is, or a LangChain retriever as one.

    Args:
        thing: The strategy or retriever.
        child: Callbacks to call the retriever with.
        name: What it is called in errors.
        elsewhere: Whether it is a retriever of ours over another index.

    Raises:
        InvalidArgument: if it is neither.
    """
    if not isinstance(thing, BaseRetriever):
        return check_base_retriever(name, thing, "LangChain")
    config: Any = {"callbacks": child}

    def ask(question: str) -> list[HostResult]:
        return [_result(document) for document in thing.invoke(question, config)]

    async def aask(question: str) -> list[HostResult]:
        return [_result(document) for document in await thing.ainvoke(question, config)]

    return HostRetriever(type(thing).__name__, ask, aask, elsewhere)


def _result(document: Document) -> HostResult:
    score = document.metadata.get("score")
    own = float(score) if isinstance(score, Real) else None
    return HostResult(document.id, document.page_content, own, document.metadata, origin=document)
