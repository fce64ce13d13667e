"""Parent documents, in LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan import ParentDocument, View
from llamaindex_ext.retriever import BasedRetriever


class ParentDocumentRetriever(BasedRetriever):
    """Like the core's ``ParentDocument``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    def __init__(self, index: View, *, level: int | None = 1, max_parents: int | None = None, **options: Any) -> None:
        self.level = level
        self.max_parents = max_parents
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> ParentDocument:
        return ParentDocument(**self._base(bundle), level=self.level, max_parents=self.max_parents)
