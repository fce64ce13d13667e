"""Converts LangChain objects for the core, which calls them with the callbacks ``child``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from numbers import Real
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable

from langchain_ext.documents import to_document
from leafspan import HostRetriever, InvalidArgument, Passage, Strategy
from leafspan.hosting import (
    GenerateOptions,
    HostObject,
    HostReranker,
    HostResult,
    Reranked,
    check_base_retriever,
    from_langchain,
    recognise,
    shown,
)


def as_strategy(
    thing: Any, child: BaseCallbackManager | None = None, *, name: str = "base", elsewhere: bool = False
) -> Strategy:
    """A strategy unchanged, or a LangChain retriever as a strategy, called ``name`` in errors.

    ``elsewhere`` says whether the retriever's results come from another index, whose ids do not exist in this one.
    """
    if not isinstance(thing, Runnable) or isinstance(thing, BaseLanguageModel):
        return check_base_retriever(name, thing, "LangChain")
    called = type(thing).__name__ if isinstance(thing, BaseRetriever) else thing.get_name()
    invoke, ainvoke = _asking(thing, child)

    def ask(question: str) -> list[HostResult]:
        return _results(called, invoke(question))

    async def aask(question: str) -> list[HostResult]:
        return _results(called, await ainvoke(question))

    return HostRetriever(called, ask, aask, elsewhere)


def as_choice(choose: Any, child: BaseCallbackManager | None = None) -> dict[str, Any]:
    """Options that ask a Runnable from a question to names; empty for any other object."""
    return dict(zip(("choose", "achoose"), _asking(choose, child), strict=True)) if isinstance(choose, Runnable) else {}


def as_transformation(how: Any, child: BaseCallbackManager | None = None) -> dict[str, Any]:
    """Options that ask a Runnable from a question to the texts to search; empty for any other object."""
    return dict(zip(("how", "ahow"), _asking(how, child), strict=True)) if isinstance(how, Runnable) else {}


def as_generate(llm: Any, child: BaseCallbackManager | None = None) -> GenerateOptions:
    """Options that ask ``llm``."""
    if not isinstance(llm, Runnable):
        raise InvalidArgument(f"llm must be a Runnable from a prompt to a message or a text, got {shown(llm)}")
    return from_langchain(llm, {"callbacks": child}).options


def as_reranker(thing: Any, child: BaseCallbackManager | None = None) -> dict[str, Any]:
    """Options that ask a document compressor; empty for a function.

    The compressor gets Documents as the retriever would return them. It returns its scores in the metadata
    ``relevance_score``, or else the base's scores in ``score``.
    """
    if not isinstance(thing, BaseDocumentCompressor):
        if callable(thing):
            return {}
        raise InvalidArgument(f"rerank must be a function or a LangChain document compressor, got {shown(thing)}")
    name = type(thing).__name__

    def rerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        documents = [to_document(passage) for passage in passages]
        return _recognise(name, documents, thing.compress_documents(list(documents), question, callbacks=child))

    async def arerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        documents = [to_document(passage) for passage in passages]
        return _recognise(name, documents, await thing.acompress_documents(list(documents), question, callbacks=child))

    return {"rerank": HostReranker(name, rerank, arerank)}


CONVERSIONS = {"llm": as_generate, "choose": as_choice, "how": as_transformation, "rerank": as_reranker}
"""The functions for objects of LangChain, by the names of the options that take them."""


def _asking(
    thing: Runnable[Any, Any], child: BaseCallbackManager | None
) -> tuple[Callable[[str], Any], Callable[[str], Awaitable[Any]]]:
    config: Any = {"callbacks": child}
    return lambda question: thing.invoke(question, config), lambda question: thing.ainvoke(question, config)


def _results(called: str, returned: Any) -> list[HostResult]:
    """A retriever's results, checked to be a list of Documents."""
    if not isinstance(returned, list | tuple):
        raise InvalidArgument(f"{called} must return a list of LangChain Documents, got {shown(returned)}")
    for each in returned:
        if not isinstance(each, Document):
            raise InvalidArgument(f"{called} must return a list of LangChain Documents, got one of {shown(each)}")
    return [HostResult(each.id, each.page_content, _score(each, "score"), each.metadata, origin=each) for each in returned]


def _recognise(name: str, documents: Sequence[Document], returned: Any) -> list[Reranked]:
    """The Documents that a compressor returned, recognised, with their new scores."""
    if not isinstance(returned, Sequence) or not all(isinstance(each, Document) for each in returned):
        raise InvalidArgument(f"{name} must return a list of Documents, got {shown(returned)}")
    key = "relevance_score" if any("relevance_score" in document.metadata for document in returned) else "score"
    scored = [(_host_object(document), _score(document, key)) for document in returned]
    return recognise(name, "Documents", [_host_object(document) for document in documents], scored)


def _score(document: Document, key: str) -> float | None:
    score = document.metadata.get(key)
    return float(score) if isinstance(score, Real) else None


def _host_object(document: Document) -> HostObject:
    return HostObject(document, document.id, document.page_content, document.metadata)
