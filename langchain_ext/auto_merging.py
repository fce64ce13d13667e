"""Auto-merging, in LangChain."""

from __future__ import annotations

from typing import ClassVar, Literal

from langchain_ext.retriever import BasedRetriever
from leafspan import AutoMerging, Strategy


class AutoMergingRetriever(BasedRetriever):
    """Like the core's ``AutoMerging``, but a LangChain retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = AutoMerging

    threshold: float = 0.5
    fill_gaps: int = 1
    max_level: int | None = None
    max_words: int | None = 400
    score: Literal["mean", "max"] = "max"
