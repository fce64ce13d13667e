"""Search by words, in LangChain."""

from __future__ import annotations

from typing import Any, Literal

from langchain_ext.retriever import SpanRetriever
from leafspan import BM25, BM25Settings


class BM25Retriever(SpanRetriever):
    """Like the core's ``BM25``, but a LangChain retriever."""

    settings: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False

    def _strategy(self, child: Any = None) -> BM25:
        return BM25(
            settings=self.settings,
            scale=self.scale,
            engine=self.engine,
            min_score=self.min_score,
            summaries=self.summaries,
        )
