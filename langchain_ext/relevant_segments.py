"""Relevant segments, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import BasedRetriever
from leafspan import RelevantSegments


class RelevantSegmentsRetriever(BasedRetriever):
    """Like the core's ``RelevantSegments``, but a LangChain retriever, and its ``base`` may be one too."""

    words: int | None = None
    max_words: int | None = 300
    run_words: float = 30
    passage_words: int = 75

    def _strategy(self, child: Any = None) -> RelevantSegments:
        return RelevantSegments(
            **self._base(child),
            words=self.words,
            max_words=self.max_words,
            run_words=self.run_words,
            passage_words=self.passage_words,
        )
