"""The context of a retrieval that a strategy gets."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from leafspan.checks import keep_whole
from leafspan.filters import Where

MOST_CANDIDATES = 10_000
"""The most candidates that a call can ask for."""

LOWEST_SCORE = -sys.float_info.max
"""A score lower than any result's."""


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """The context of one retrieval that a strategy gets.

    Attributes:
        candidates: Number of leaves to look at for each query, >= 1. A strategy that finds single leaves returns fewer only
            if the index has no more. If the results do not fill a budget, leafspan runs it again with more.
        where: Filter on the documents, None for all. Pass it on with every request.
        k: Number of results that the call will use: no more need to be loaded. None if all may be used; a strategy that
            builds on another one uses all of its results.
        words: Most words in all results together, None if the call has no budget. An estimate where the budget counts
            tokens. A longer result is useless unless it is a single leaf.
        embedder: Name of the embedder that the index was made with, None before its first document.
        exactly: Whether the call itself set the number of candidates, so that no strategy looks at more. Default: False.
        private: Whether a private view is searched, where pseudonyms replace the entities in queries and documents.
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
        """The number of results worth loading."""
        return self.candidates if self.k is None else min(self.k, self.candidates)

    @property
    def for_base(self) -> RetrievalContext:
        """The context for the base of this strategy: the same without ``k``, since it needs all results of its base."""
        return replace(self, k=None)

    def at_least(self, candidates: int) -> RetrievalContext:
        """The same context with at least this many candidates, unless the call set the number."""
        return self if self.exactly else replace(self, candidates=max(self.candidates, candidates))

    def longest(self, max_words: int | None) -> int | None:
        """The most words that a result may have: ``max_words``, or ``words`` if that is less. None for no limit."""
        return min((limit for limit in (max_words, self.words) if limit is not None), default=None)
