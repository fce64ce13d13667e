"""Plain vector search, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import NamedRetriever
from leafspan import Strategy, Vector


class VectorRetriever(NamedRetriever):
    """Like the core's ``Vector``, but a LangChain retriever."""

    kind: ClassVar[type[Strategy]] = Vector

    instruction: str = ""
    min_score: float | None = None
    summaries: bool = False
