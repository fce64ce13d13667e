"""Sentence windows, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import BasedRetriever
from leafspan import SentenceWindow


class SentenceWindowRetriever(BasedRetriever):
    """Like the core's ``SentenceWindow``, but a LangChain retriever, and its ``base`` may be one too."""

    before: int = 0
    after: int = 1

    def _strategy(self, child: Any = None) -> SentenceWindow:
        return SentenceWindow(**self._base(child), before=self.before, after=self.after)
