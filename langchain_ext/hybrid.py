"""Search by words and by vectors at once, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import SpanRetriever
from leafspan import BM25Settings, Hybrid
from leafspan.strategies import Fusion


class HybridRetriever(SpanRetriever):
    """Like the core's ``Hybrid``, but a LangChain retriever."""

    weights: tuple[float, float] = (0.7, 0.3)
    fusion: Fusion = "relative score"
    depth: int | tuple[int, int] = (100, 50)
    neighbour_bonus: float = 0.4
    calibrate: bool = True
    min_score: float | None = None
    min_answerable: float | None = None
    settings: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    summary_bonus: float = 0.0

    def _strategy(self, child: Any = None) -> Hybrid:
        return Hybrid(
            weights=self.weights,
            fusion=self.fusion,
            depth=self.depth,
            neighbour_bonus=self.neighbour_bonus,
            calibrate=self.calibrate,
            min_score=self.min_score,
            min_answerable=self.min_answerable,
            settings=self.settings,
            instruction=self.instruction,
            summaries=self.summaries,
            summary_bonus=self.summary_bonus,
        )
