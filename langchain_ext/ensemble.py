"""Ensembles, in LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_ext.retriever import SpanRetriever
from leafspan import Ensemble
from leafspan.strategies import Fusion


class EnsembleRetriever(SpanRetriever):
    """Like the core's ``Ensemble``, but a LangChain retriever, and its ``legs`` may be such, too.

    One of this package over the same index is its strategy, see ``SpanRetriever``; any other has to return leaves.
    """

    legs: Sequence[Any]
    weights: Sequence[float] | None = None
    fusion: Fusion = "reciprocal rank"
    constant: float = 60
    timeout: float | Sequence[float | None] | None = None
    on_failure: Literal["raise", "leave out"] = "raise"
    min_candidates: int | None = None
    names: Sequence[str] | None = None

    def _strategy(self, child: Any = None) -> Ensemble:
        return Ensemble(
            legs=[self._used(f"leg {number}", leg, child) for number, leg in enumerate(self.legs, start=1)],
            weights=self.weights,
            fusion=self.fusion,
            constant=self.constant,
            timeout=self.timeout,
            on_failure=self.on_failure,
            min_candidates=self.min_candidates,
            names=self.names,
        )
