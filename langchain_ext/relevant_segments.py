"""Relevant segments, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import BasedRetriever
from leafspan import RelevantSegments, Strategy


class RelevantSegmentsRetriever(BasedRetriever):
    """Like the core's ``RelevantSegments``, but a LangChain retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = RelevantSegments

    words: int | None = None
    max_words: int | None = 300
    run_cost: float = 30
    passage_words: int = 75
