"""Any strategy, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass

from llama_index.core.schema import QueryBundle

from leafspan import Strategy
from leafspan.hosting import DEFAULT, check_strategy
from llamaindex_ext.retriever import SpanRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class StrategyRetriever(SpanRetriever):
    """Any strategy of the core, or one of your own, as a LlamaIndex retriever."""

    strategy: Strategy | None = None

    def _strategy(self, bundle: QueryBundle | None = None) -> Strategy:
        if self.strategy is None:
            return DEFAULT
        check_strategy("strategy", self.strategy)
        return self.strategy
