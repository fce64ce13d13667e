"""Search by words and by vectors at once, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import NamedRetriever
from leafspan import BM25Settings, Hybrid, Strategy
from leafspan.hosting import Fusion


class HybridRetriever(NamedRetriever):
    """Like the core's ``Hybrid``, but a LangChain retriever."""

    kind: ClassVar[type[Strategy]] = Hybrid

    weights: tuple[float, float] = (0.7, 0.3)
    fusion: Fusion = "relative_score"
    depth: int | tuple[int, int] = (100, 50)
    neighbour_bonus: float = 0.4
    calibrate: bool = True
    min_score: float | None = None
    min_answer_probability: float | None = None
    bm25: BM25Settings | None = None
    instruction: str = ""
    summaries: bool = False
    summary_bonus: float = 0.0
