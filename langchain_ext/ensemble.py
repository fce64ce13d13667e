"""Ensembles, in LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from langchain_ext.retriever import NamedRetriever
from leafspan import Ensemble, Strategy
from leafspan.hosting import Fusion, to_strategies


class EnsembleRetriever(NamedRetriever):
    """Like the core's ``Ensemble``, but a LangChain retriever, and its ``retrievers`` may be such, too.

    One of this package over the same index counts as its strategy, see ``SpanRetriever``; any other has to return leaves.
    """

    kind: ClassVar[type[Strategy]] = Ensemble

    retrievers: Sequence[Any]
    weights: Sequence[float] | None = None
    fusion: Fusion = "rrf"
    rank_constant: float = 60
    timeout: float | Sequence[float | None] | None = None
    on_failure: Literal["raise", "leave out"] = "raise"
    min_candidates: int | None = None
    names: Sequence[str] | None = None

    def _converted(self, child: Any) -> dict[str, Any]:
        return {"retrievers": to_strategies(self.retrievers, lambda name, each: self._as_strategy(name, each, child))}
