"""Any strategy, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import BaseSpanRetriever
from leafspan import Strategy
from leafspan.hosting import StrategyLike, strategy_of


class SpanRetriever(BaseSpanRetriever):
    """Any strategy of the core, or one of your own, as a LangChain retriever.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        strategy: Strategy of the core, or one of your own; its name, such as ``"hybrid"``; or a mapping such as
            ``Strategy.to_config`` gives. Default: that of the index's configuration, or ``RelevantSegments()``.
        k: Most passages, >= 1. Default: 5, or any number if a budget is given or the strategy has a limit of its own, such
            as ``min_score``.
        candidates: Leaves to look at before merging, in [1, 10000]. Default: as many as it takes to fill the budget or to
            find all above ``min_score``; with ``k``, 4 * k and at least 24.
        budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. The first passage that
            does not fit is cut to the leaves around its best hit that do, and ends the list. Only a single leaf is returned
            even if it alone is over the budget. Default: any number.
        where: Filter on the documents' metadata, such as ``F("year") >= 2020``, or one in the dialect of Chroma, Haystack
            or LlamaIndex. Default: all documents.
        min_score: Lowest score of a passage: docs/scores.md says what scores mean. Without ``k`` or ``budget``, all that
            reach it are returned. Default: any.
        retrieval_timeout: Seconds, > 0, after which a call ends with a ``RetrievalTimeout``, whatever it waits for:
            ``timeout`` of the core's ``retrieve``. Default: none.
        filter_policy: Which filter holds if a call brings one, too: ``"replace"`` for that of the call, ``"merge"`` for
            both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.
        explain: Whether each Document has a ``trace`` in its metadata: sentences that say how it was found. Default: False.

    Raises:
        ValidationError: if an option is unknown or out of its range. It is pydantic's, and holds the core's
            InvalidArgument.
    """

    strategy: StrategyLike | None = None

    def _strategy(self, child: Any = None) -> Strategy:
        return strategy_of(self.index, self.strategy)
