"""Parent documents, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import BasedRetriever
from leafspan import ParentDocument


class ParentDocumentRetriever(BasedRetriever):
    """Like the core's ``ParentDocument``, but a LangChain retriever, and its ``base`` may be one too."""

    level: int | None = 1
    max_parents: int | None = None

    def _strategy(self, child: Any = None) -> ParentDocument:
        return ParentDocument(**self._base(child), level=self.level, max_parents=self.max_parents)
