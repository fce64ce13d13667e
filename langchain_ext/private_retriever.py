"""Retrieval in a private view, in LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from langchain_ext.retriever import NamedRetriever, documented
from leafspan import Strategy, View
from leafspan.private import PIIAware


@documented
class PIIAwareRetriever(NamedRetriever):
    """Like the core's ``PIIAware``, but a LangChain retriever. Its ``index`` is a private view."""

    kind: ClassVar[type[Strategy]] = PIIAware
    index: View = Field(kw_only=False)
    base: Any = None
    weights: Sequence[float] = (0.2, 0.8)
    rank_constant: float = 60
    min_candidates: int = 1
    entities_field: str = "entities"
