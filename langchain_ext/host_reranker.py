"""A LangChain document compressor as what reorders results."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_ext.documents import to_document
from leafspan import InvalidArgument, Passage
from leafspan.hosting import Given, HostReranker, Reranked, place_among, shown


def as_reranker(thing: Any, child: BaseCallbackManager | None = None) -> Any:
    """A function as it is, or a document compressor as a reranker, called with the callbacks ``child``.

    The compressor gets Documents as the retriever would return them. Scores are those in the metadata
    ``relevance_score``, or else ``score``, which is the base's.

    Raises:
        InvalidArgument: if it is neither.
    """
    if thing is None or (callable(thing) and not isinstance(thing, BaseDocumentCompressor)):
        return thing
    if not isinstance(thing, BaseDocumentCompressor):
        raise InvalidArgument(f"rerank must be a function or a LangChain document compressor, got {shown(thing)}")
    name = type(thing).__name__

    def rerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        documents = [to_document(passage) for passage in passages]
        return _recognised(name, documents, thing.compress_documents(list(documents), question, callbacks=child))

    async def arerank(question: str, passages: Sequence[Passage]) -> list[Reranked]:
        documents = [to_document(passage) for passage in passages]
        return _recognised(name, documents, await thing.acompress_documents(list(documents), question, callbacks=child))

    return HostReranker(name, rerank, arerank)


def _recognised(name: str, documents: Sequence[Document], returned: Any) -> list[Reranked]:
    if not isinstance(returned, Sequence) or not all(isinstance(each, Document) for each in returned):
        raise InvalidArgument(f"{name} must return a list of Documents, got {shown(returned)}")
    given = [_given(document) for document in documents]
    key = "relevance_score" if any("relevance_score" in document.metadata for document in returned) else "score"
    results = []
    for document in returned:
        place = place_among(given, _given(document))
        if place is None:
            text = shown(document.page_content)
            raise InvalidArgument(f"{name} must return Documents that it was given, got one of the text {text}")
        score = document.metadata.get(key)
        is_changed = document.page_content != given[place].text
        note = "the text that it changed stays as it is" if is_changed else ""
        results.append(Reranked(place, float(score) if isinstance(score, Real) else None, note))
    return results


def _given(document: Document) -> Given:
    return Given(document, document.id, document.page_content, document.metadata)
