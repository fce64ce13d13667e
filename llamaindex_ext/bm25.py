"""Search by words, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from leafspan import BM25, BM25Settings, Strategy
from llamaindex_ext.retriever import NamedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class BM25Retriever(NamedRetriever):
    """Like the core's ``BM25``, but a LlamaIndex retriever."""

    kind: ClassVar[type[Strategy]] = BM25

    bm25: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False
