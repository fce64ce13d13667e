"""leafspan's own retrievers, through LangChain, and through LlamaIndex for many questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import langchain_ext
import llamaindex_ext
from leafspan import F, Index, Vector
from peers._asking import Asked, Found
from peers.langchain_peers import ids_of

CANDIDATES = 24


def through_langchain(index: Index, k: int) -> list[Asked]:
    """Each retriever, for ``k`` passages. Retrievers with a base use vectors."""
    spans: dict[str, Any] = {"index": index, "base": Vector(), "k": k, "candidates": CANDIDATES}
    windows = langchain_ext.SentenceWindowRetriever(**spans, before=1, after=1)
    return [
        asked("leafspan Vector", "vectors", langchain_ext.VectorRetriever(index=index, k=k)),
        asked("leafspan BM25", "words", langchain_ext.BM25Retriever(index=index, k=k)),
        asked("leafspan Hybrid", "words and vectors", langchain_ext.HybridRetriever(index=index, k=k)),
        asked("leafspan AutoMerging", "merged leaves", langchain_ext.AutoMergingRetriever(**spans)),
        asked("leafspan SentenceWindow", "windows", windows),
        asked("leafspan ParentDocument", "parents", langchain_ext.ParentDocumentRetriever(**spans)),
    ]


def asked(name: str, kind: str, retriever: Any) -> Asked:
    """A leafspan retriever for LangChain, ready to be asked."""

    def within(question: str, first: int, last: int) -> Found:
        return ids_of(retriever.invoke(question, where=(F("book") >= first) & (F("book") < last)))

    def ask(question: str) -> Found:
        return ids_of(retriever.invoke(question))

    return Asked(
        name, kind, "leafspan", ask, many=retriever.batch, aask=retriever.ainvoke, within=within, count=retriever.k
    )


def in_one_search(index: Index, k: int) -> Sequence[Asked]:
    """Vector and Hybrid through LlamaIndex, which answer many questions in one search."""
    several = {
        "leafspan Vector, retrieve_many": ("vectors", llamaindex_ext.VectorRetriever(index=index, similarity_top_k=k)),
        "leafspan Hybrid, retrieve_many": (
            "words and vectors",
            llamaindex_ext.HybridRetriever(index=index, similarity_top_k=k),
        ),
    }
    return [
        Asked(name, kind, "leafspan", lambda question, each=each: each.retrieve(question), many=each.retrieve_many)  # type: ignore[misc]
        for name, (kind, each) in several.items()
    ]
