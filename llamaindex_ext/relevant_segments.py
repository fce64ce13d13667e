"""Relevant segments, in LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan import RelevantSegments, View
from llamaindex_ext.retriever import BasedRetriever


class RelevantSegmentsRetriever(BasedRetriever):
    """Like the core's ``RelevantSegments``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    def __init__(
        self,
        index: View,
        *,
        words: int | None = None,
        max_words: int | None = 300,
        run_words: float = 30,
        passage_words: int = 75,
        **options: Any,
    ) -> None:
        self.words = words
        self.max_words = max_words
        self.run_words = run_words
        self.passage_words = passage_words
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> RelevantSegments:
        return RelevantSegments(
            **self._base(bundle),
            words=self.words,
            max_words=self.max_words,
            run_words=self.run_words,
            passage_words=self.passage_words,
        )
