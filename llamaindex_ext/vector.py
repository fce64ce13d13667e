"""Plain vector search, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leafspan import Strategy, Vector
from llamaindex_ext.retriever import NamedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class VectorRetriever(NamedRetriever):
    """Like the core's ``Vector``, but a LlamaIndex retriever."""

    kind: ClassVar[type[Strategy]] = Vector

    instruction: str = ""
    min_score: float | None = None
    summaries: bool = False
