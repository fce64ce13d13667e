"""Retrieval in a private view, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

from leafspan import Strategy, View
from leafspan.private import PIIAware
from llamaindex_ext.retriever import NamedRetriever, documented


@documented
class PIIAwareRetriever(NamedRetriever):
    """Like the core's ``PIIAware``, but a LlamaIndex retriever. Its ``index`` is a private view."""

    kind: ClassVar[type[Strategy]] = PIIAware
    index: View = field(kw_only=False)
    base: Any = None
    weights: Sequence[float] = (0.2, 0.8)
    rank_constant: float = 60
    min_candidates: int = 1
    entities_field: str = "entities"
