"""Plain vector search, in LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan import Vector, View
from llamaindex_ext.retriever import SpanRetriever


class VectorRetriever(SpanRetriever):
    """Like the core's ``Vector``, but a LlamaIndex retriever."""

    def __init__(
        self,
        index: View,
        *,
        instruction: str = "",
        min_score: float | None = None,
        summaries: bool = False,
        **options: Any,
    ) -> None:
        self.instruction = instruction
        self.min_score = min_score
        self.summaries = summaries
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> Vector:
        return Vector(instruction=self.instruction, min_score=self.min_score, summaries=self.summaries)
