"""Sentence windows, in LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan import SentenceWindow, View
from llamaindex_ext.retriever import BasedRetriever


class SentenceWindowRetriever(BasedRetriever):
    """Like the core's ``SentenceWindow``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    def __init__(self, index: View, *, before: int = 0, after: int = 1, **options: Any) -> None:
        self.before = before
        self.after = after
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> SentenceWindow:
        return SentenceWindow(**self._base(bundle), before=self.before, after=self.after)
