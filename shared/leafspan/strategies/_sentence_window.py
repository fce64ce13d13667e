"""Sentence windows: each hit with its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from leafspan.checks import keep_whole
from leafspan.spans import longest_prefix, neighbours_of, windows_around
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import check_base, retrieve_leaves
from leafspan.strategies._requests import Load, RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, LeafId, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceWindow(Strategy):
    """The best hits of ``base``, each with the leaves before and after it in its document.

    Hits get their windows best first, until there are ``k`` windows or the budget is full. Windows that touch or overlap
    become one passage, with the best score among their hits. A leaf has one to a few sentences.

    Args:
        base: Strategy that finds single leaves. Default: ``Hybrid()``.
        before: Number of leaves before each hit, >= 0. Default: 0.
        after: Number of leaves after each hit, >= 0. Default: 1.
        max_words: Longest passage, in words, >= 1; only a single leaf can be longer. A window ends before the leaf that
            would make it longer, and windows that touch stay apart if the joined one would be longer. Default: 300.
            None: any.

    Raises:
        InvalidArgument: if ``base`` finds spans longer than leaves, or a number is out of its range.

    Ties are ordered by document id, then position.
    """

    finds_spans = True
    base: Strategy = field(default_factory=Hybrid)
    before: int = 0
    after: int = 1
    max_words: int | None = 300

    def __post_init__(self) -> None:
        check_base(self.base)
        keep_whole(self, "before", 0)
        keep_whole(self, "after", 0)
        keep_whole(self, "max_words", 1, optional=True)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """The base, and a fetch of the neighbours, whose lengths decide where a window ends."""
        # Windows may unite, so the base finds more hits than k; one extra hit shows that there are others.
        # With a budget, the number of hits also decides whether to look again, at more candidates.
        most = None if context.k is None or context.words is not None else 2 * context.k + 1
        lengths: dict[LeafId, int] = {}
        results = yield from retrieve_leaves(self.base, queries, context, most=most)
        windows = yield from self._windows(results, context, lengths)
        if any(len(hits) == most and len(own) < (context.k or 0) for hits, own in zip(results, windows, strict=True)):
            results = yield from retrieve_leaves(self.base, queries, context)
            windows = yield from self._windows(results, context, lengths)
        return windows

    def _windows(
        self, results: Sequence[Sequence[Candidate]], context: RetrievalContext, lengths: dict[LeafId, int]
    ) -> StrategyFlow[list[list[Candidate]]]:
        """The windows around the best hits of each query: as many hits as ``k`` windows need.

        Loads missing lengths of leaves, and adds them to ``lengths``.
        """
        longest = context.longest(self.max_words)
        best = [hits[: context.k] for hits in results]
        if longest is not None:  # without a limit, lengths would be known for some leaves of a window only
            lengths |= {hit.id: hit.words or 0 for hits in results for hit in hits}
        while True:
            if longest is not None and not self._neighbours(best, context).issubset(lengths):
                # Loads more hits than this round needs: where windows unite, the next round then needs no fetch.
                ahead = [hits[: 2 * len(some) + 1] for hits, some in zip(results, best, strict=True)]
                missing = sorted(self._neighbours(ahead, context) - lengths.keys())
                loaded: dict[LeafId, Candidate] = yield Load(tuple(missing))
                lengths |= {candidate.id: candidate.words or 0 for candidate in loaded.values()}
            windows = [
                windows_around(
                    hits, before=self.before, after=self.after, max_words=longest, budget=context.words, words=lengths
                )
                for hits in best
            ]
            more = [
                hits[: len(some) + max(0, (context.k or 0) - len(own))]
                for hits, some, own in zip(results, best, windows, strict=True)
            ]
            if list(map(len, more)) == list(map(len, best)):
                return windows
            best = more

    def _neighbours(self, results: Sequence[Sequence[Candidate]], context: RetrievalContext) -> set[LeafId]:
        """The ids of the leaves that windows may add to the hits within the budget."""
        fitting = (self._fitting(hits, context.words) for hits in results)
        return {id_ for hits in fitting for id_ in neighbours_of(hits, before=self.before, after=self.after)}

    def _fitting(self, hits: Sequence[Candidate], budget: int | None) -> Sequence[Candidate]:
        """The best hits within the budget; all hits without a budget."""
        if budget is None:
            return hits
        ordered = sorted(hits, key=lambda hit: hit.order)
        return longest_prefix(ordered, (hit.words or 0 for hit in ordered), budget)
