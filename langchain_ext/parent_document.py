"""Parent documents, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import BasedRetriever
from leafspan import ParentDocument, Strategy


class ParentDocumentRetriever(BasedRetriever):
    """Like the core's ``ParentDocument``, but a LangChain retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = ParentDocument

    level: int | None = 1
    max_parents: int | None = None
