"""Search by words and by vectors at once, in LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan import BM25Settings, Hybrid, View
from leafspan.strategies import Fusion
from llamaindex_ext.retriever import SpanRetriever


class HybridRetriever(SpanRetriever):
    """Like the core's ``Hybrid``, but a LlamaIndex retriever."""

    def __init__(
        self,
        index: View,
        *,
        weights: tuple[float, float] = (0.7, 0.3),
        fusion: Fusion = "relative score",
        depth: int | tuple[int, int] = (100, 50),
        neighbour_bonus: float = 0.4,
        calibrate: bool = True,
        min_score: float | None = None,
        min_answerable: float | None = None,
        settings: BM25Settings | None = None,
        instruction: str = "",
        summaries: bool = False,
        summary_bonus: float = 0.0,
        **options: Any,
    ) -> None:
        self.weights = weights
        self.fusion = fusion
        self.depth = depth
        self.neighbour_bonus = neighbour_bonus
        self.calibrate = calibrate
        self.min_score = min_score
        self.min_answerable = min_answerable
        self.settings = settings
        self.instruction = instruction
        self.summaries = summaries
        self.summary_bonus = summary_bonus
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> Hybrid:
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
