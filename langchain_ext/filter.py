"""Passages by metadata alone, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import SpanRetriever
from leafspan import Filter


class FilterRetriever(SpanRetriever):
    """Like the core's ``Filter``, but a LangChain retriever: the question is not read, and may be ``""``."""

    offset: int = 0

    def _strategy(self, child: Any = None) -> Filter:
        return Filter(offset=self.offset)
