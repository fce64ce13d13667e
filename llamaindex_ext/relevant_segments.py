"""Relevant segments, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leafspan import RelevantSegments, Strategy
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class RelevantSegmentsRetriever(BasedRetriever):
    """Like the core's ``RelevantSegments``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = RelevantSegments

    words: int | None = None
    max_words: int | None = 300
    run_cost: float = 30
    passage_words: int = 75
