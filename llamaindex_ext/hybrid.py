"""Search by words and by vectors at once, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leafspan import BM25Settings, Hybrid, Strategy
from leafspan.hosting import Fusion
from llamaindex_ext.retriever import NamedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class HybridRetriever(NamedRetriever):
    """Like the core's ``Hybrid``, but a LlamaIndex retriever."""

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
