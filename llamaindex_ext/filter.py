"""Passages by metadata alone, in LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan import Filter, View
from llamaindex_ext.retriever import SpanRetriever


class FilterRetriever(SpanRetriever):
    """Like the core's ``Filter``, but a LlamaIndex retriever: the question is not read, and may be ``""``."""

    def __init__(self, index: View, *, offset: int = 0, **options: Any) -> None:
        self.offset = offset
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> Filter:
        return Filter(offset=self.offset)
