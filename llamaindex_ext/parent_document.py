"""Parent documents, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leafspan import ParentDocument, Strategy
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class ParentDocumentRetriever(BasedRetriever):
    """Like the core's ``ParentDocument``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = ParentDocument

    level: int | None = 1
    max_parents: int | None = None
