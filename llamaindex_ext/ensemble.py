"""Ensembles, in LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.schema import QueryBundle

from leafspan import Ensemble, View
from leafspan.strategies import Fusion
from llamaindex_ext.retriever import SpanRetriever


class EnsembleRetriever(SpanRetriever):
    """Like the core's ``Ensemble``, but a LlamaIndex retriever, and its ``legs`` may be such, too.

    One of this package over the same index is its strategy, see ``SpanRetriever``; any other has to return leaves.
    """

    def __init__(
        self,
        index: View,
        *,
        legs: Sequence[Any],
        weights: Sequence[float] | None = None,
        fusion: Fusion = "reciprocal rank",
        constant: float = 60,
        timeout: float | Sequence[float | None] | None = None,
        on_failure: Literal["raise", "leave out"] = "raise",
        min_candidates: int | None = None,
        names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self.legs = tuple(legs)
        self.weights = weights
        self.fusion = fusion
        self.constant = constant
        self.timeout = timeout
        self.on_failure = on_failure
        self.min_candidates = min_candidates
        self.names = names
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> Ensemble:
        return Ensemble(
            legs=[self._used(f"leg {number}", leg, bundle) for number, leg in enumerate(self.legs, start=1)],
            weights=self.weights,
            fusion=self.fusion,
            constant=self.constant,
            timeout=self.timeout,
            on_failure=self.on_failure,
            min_candidates=self.min_candidates,
            names=self.names,
        )
