"""What a strategy is told about a retrieval."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from leafspan.checks import keep_whole
from leafspan.filters import Where

MOST_CANDIDATES = 10_000
"""The most candidates that a call can ask for."""

LOWEST_SCORE = -sys.float_info.max
"""A score below that of any result."""


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """What a strategy is told about one retrieval.

    Attributes:
        candidates: Number of leaves to look at for each query, >= 1. A strategy that finds single leaves returns fewer only
            if there are no more. If a budget is not full, the strategy is run again with more candidates.
        where: Filter on the documents, None for all. Pass it on with every request.
        k: Number of results that will be used, so that no more need to be loaded. None if all may be used, as they are by
            a strategy that builds on this one.
        words: Most words in all results together, None if the call has no budget. An estimate where the budget counts
            tokens. A result longer than this is useless unless it is a single leaf.
        embedder: Name of the embedder that the index was made with, None before its first document.
        exactly: Whether the call itself said how many candidates to look at, so that no strategy looks at more.
            Default: False.
        private: Whether a private view is asked, so that queries and documents have pseudonyms in place of entities.
            Default: False.
    """

    candidates: int
    where: Where | None = None
    k: int | None = None
    words: int | None = None
    embedder: str | None = None
    exactly: bool = False
    private: bool = False

    def __post_init__(self) -> None:
        keep_whole(self, "candidates", 1)
        if self.k is not None:
            keep_whole(self, "k", 1)

    @property
    def results(self) -> int:
        """The number of results that are worth loading."""
        return self.candidates if self.k is None else min(self.k, self.candidates)

    @property
    def for_base(self) -> RetrievalContext:
        """The context for the base of this strategy: the same without ``k``, since all results of the base are needed."""
        return replace(self, k=None)

    def at_least(self, candidates: int) -> RetrievalContext:
        """The same with at least so many candidates, unless the call said how many."""
        return self if self.exactly else replace(self, candidates=max(self.candidates, candidates))

    def longest(self, max_words: int | None) -> int | None:
        """The most words that a result may have: ``max_words``, or ``words`` if that is less. None for any number."""
        return min((limit for limit in (max_words, self.words) if limit is not None), default=None)
