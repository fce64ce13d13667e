"""Any strategy, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import SpanRetriever
from leafspan import Strategy
from leafspan.hosting import DEFAULT, check_strategy


class StrategyRetriever(SpanRetriever):
    """Any strategy of the core, or one of your own, as a LangChain retriever."""

    strategy: Strategy | None = None

    def _strategy(self, child: Any = None) -> Strategy:
        if self.strategy is None:
            return DEFAULT
        check_strategy("strategy", self.strategy)
        return self.strategy
