"""Auto-merging, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from leafspan import AutoMerging, Strategy
from llamaindex_ext.retriever import BasedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class AutoMergingRetriever(BasedRetriever):
    """Like the core's ``AutoMerging``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    kind: ClassVar[type[Strategy]] = AutoMerging

    threshold: float = 0.5
    fill_gaps: int = 1
    max_level: int | None = None
    max_words: int | None = 400
    score: Literal["mean", "max"] = "max"
