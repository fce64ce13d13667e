"""Auto-merging, in LlamaIndex."""

from __future__ import annotations

from typing import Any, Literal

from llama_index.core.schema import QueryBundle

from leafspan import AutoMerging, View
from llamaindex_ext.retriever import BasedRetriever


class AutoMergingRetriever(BasedRetriever):
    """Like the core's ``AutoMerging``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    def __init__(
        self,
        index: View,
        *,
        threshold: float = 0.5,
        fill_gaps: int = 1,
        max_level: int | None = None,
        max_words: int | None = 400,
        score: Literal["mean", "max"] = "max",
        **options: Any,
    ) -> None:
        self.threshold = threshold
        self.fill_gaps = fill_gaps
        self.max_level = max_level
        self.max_words = max_words
        self.score = score
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> AutoMerging:
        return AutoMerging(
            **self._base(bundle),
            threshold=self.threshold,
            fill_gaps=self.fill_gaps,
            max_level=self.max_level,
            max_words=self.max_words,
            score=self.score,
        )
