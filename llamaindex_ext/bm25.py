"""Search by words, in LlamaIndex."""

from __future__ import annotations

from typing import Any, Literal

from llama_index.core.schema import QueryBundle

from leafspan import BM25, BM25Settings, View
from llamaindex_ext.retriever import SpanRetriever


class BM25Retriever(SpanRetriever):
    """Like the core's ``BM25``, but a LlamaIndex retriever."""

    def __init__(
        self,
        index: View,
        *,
        settings: BM25Settings | None = None,
        scale: bool = False,
        engine: Literal["postings", "rank-bm25"] = "postings",
        min_score: float | None = None,
        summaries: bool = False,
        **options: Any,
    ) -> None:
        self.settings = settings
        self.scale = scale
        self.engine = engine
        self.min_score = min_score
        self.summaries = summaries
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> BM25:
        return BM25(
            settings=self.settings,
            scale=self.scale,
            engine=self.engine,
            min_score=self.min_score,
            summaries=self.summaries,
        )
