"""A LangChain retriever as the base or a leg of a strategy."""

from __future__ import annotations

from numbers import Real
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from leafspan import HostRetriever, InvalidArgument, Strategy
from leafspan.strategies import HostResult


def as_strategy(thing: Any, child: BaseCallbackManager | None = None, *, name: str = "base") -> Strategy:
    """The strategy as it is, or a LangChain retriever as one; it is called with the callbacks ``child``.

    Raises:
        InvalidArgument: if it is neither; ``name`` is what it is called there.
    """
    if isinstance(thing, BaseRetriever):
        config: Any = {"callbacks": child}

        def ask(question: str) -> list[HostResult]:
            return [_result(document) for document in thing.invoke(question, config)]

        async def aask(question: str) -> list[HostResult]:
            return [_result(document) for document in await thing.ainvoke(question, config)]

        return HostRetriever(type(thing).__name__, ask, aask)
    if not callable(getattr(thing, "retrieve", None)):
        raise InvalidArgument(f"{name} must be a strategy or a LangChain retriever, got {thing!r}")
    strategy: Strategy = thing
    return strategy


def _result(document: Document) -> HostResult:
    score = document.metadata.get("score")
    return HostResult(document.id, document.page_content, float(score) if isinstance(score, Real) else None)
