"""Auto-merging, in LangChain."""

from __future__ import annotations

from typing import Any, Literal

from langchain_ext.retriever import BasedRetriever
from leafspan import AutoMerging


class AutoMergingRetriever(BasedRetriever):
    """Like the core's ``AutoMerging``, but a LangChain retriever, and its ``base`` may be one too."""

    threshold: float = 0.5
    fill_gaps: int = 1
    max_level: int | None = None
    max_words: int | None = 400
    score: Literal["mean", "max"] = "max"

    def _strategy(self, child: Any = None) -> AutoMerging:
        return AutoMerging(
            **self._base(child),
            threshold=self.threshold,
            fill_gaps=self.fill_gaps,
            max_level=self.max_level,
            max_words=self.max_words,
            score=self.score,
        )
