"""Plain vector search, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import SpanRetriever
from leafspan import Vector


class VectorRetriever(SpanRetriever):
    """Like the core's ``Vector``, but a LangChain retriever."""

    instruction: str = ""
    min_score: float | None = None
    summaries: bool = False

    def _strategy(self, child: Any = None) -> Vector:
        return Vector(instruction=self.instruction, min_score=self.min_score, summaries=self.summaries)
