"""Search by words, in LangChain."""

from __future__ import annotations

from typing import ClassVar, Literal

from langchain_ext.retriever import NamedRetriever
from leafspan import BM25, BM25Settings, Strategy


class BM25Retriever(NamedRetriever):
    """Like the core's ``BM25``, but a LangChain retriever."""

    kind: ClassVar[type[Strategy]] = BM25

    bm25: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False
