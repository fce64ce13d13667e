"""Relevant segments: runs of leaves that hold as much relevance as fits into the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt

from leafspan.checks import check_number, keep_whole
from leafspan.spans import runs_within_budget, short_gaps
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import check_base, retrieve_leaves
from leafspan.strategies._requests import Load, RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.strategies.scoring import relevances
from leafspan.values import Candidate, LeafId, Query, Span

_LEAST = 24  # fewest leaves to get from the base, and passages to choose without ``k``
_WORDS_A_LEAF = 15  # gets more leaves than a budget can hold, since some are skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevantSegments(Strategy):
    """The runs of leaves that together hold the most relevance within a budget of words.

    A leaf's relevance is the cube of its probability: its score in ``base``, if that is a probability. Other scores are
    turned into shares of 1: see docs/scores.md. The value of a run is the relevance of its leaves, minus a price for each
    of its words and for up to ``run_cost`` more words. leafspan finds the runs that do not overlap and have the highest
    total value, exactly. The price of a word is the lowest one at which the runs fit the budget; leafspan tries each leaf's
    relevance divided by its words. If the runs fit at each of these prices, leafspan lowers the price until each leaf is
    worth a run of its own, and fills the budget with runs, the run with the best leaf first. So short gaps are bridged even
    if all scores are equal. The best other leaves fill the rest of the budget; a leaf that touches a run joins it. A run
    has the score of its best leaf, and results are ordered by this score.

    The budget is the smaller of the call's budget and ``words``. If neither is given, it is ``passage_words`` for each
    of the ``k`` passages. If the call has no budget, the leaves that did not fit follow one by one.

    A run includes the gap between two hits if one run is then worth more than two runs. Leaves in the gap that the base
    did not return have no relevance. leafspan loads them only if the gap has at most 10 characters a word of ``run_cost``.

    Args:
        base: Strategy that finds single leaves. Unless the call gives ``candidates``, it is asked for at least 24
            leaves, plus one for every 15 words of the budget. Default: ``Hybrid()``.
        words: Most words in all runs together, >= 1. Default: the call's budget, or ``passage_words`` for each passage.
        max_words: Longest passage, in words, >= 1; only a single leaf can be longer. Default: 300. None: any.
        run_cost: Price of each run, in words, in addition to its own words, >= 0. A higher value joins runs over longer
            gaps. It is multiplied by the square root of the best leaf's probability. Default: 30.
        passage_words: Words for each passage asked for, if there is no budget, >= 1. Default: 75.

    Raises:
        InvalidArgument: if ``base`` finds spans longer than leaves, or a number is out of its range.

    Ties are ordered by document id, then position. Source: relevant segment extraction in dsRAG, which chooses greedily.
    """

    finds_spans = True
    base: Strategy = field(default_factory=Hybrid)
    words: int | None = None
    max_words: int | None = 300
    run_cost: float = 30
    passage_words: int = 75

    def __post_init__(self) -> None:
        check_base(self.base)
        keep_whole(self, "words", 1, optional=True)
        keep_whole(self, "max_words", 1, optional=True)
        keep_whole(self, "passage_words", 1)
        check_number("run_cost", self.run_cost, at_least=0)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """The base, and a fetch of the leaves in the gaps between its hits that may be bridged."""
        budget = context.longest(self.words) or self.passage_words * (context.k or _LEAST)
        looking = context.at_least(_LEAST + budget // _WORDS_A_LEAF)
        results = yield from retrieve_leaves(self.base, queries, looking)
        gaps = [short_gaps(hits, self.run_cost) for hits in results]
        loaded: dict[LeafId, Candidate] = {}
        if any(gaps):
            loaded = yield Load(tuple(dict.fromkeys(id_ for ids in gaps for id_ in ids)))
        segments = []
        for hits, ids in zip(results, gaps, strict=True):
            between = [loaded[id_] for id_ in ids]
            relevance, certainty = _relevance(hits)
            # If the best leaf is improbable, its neighbours hardly belong to the answer.
            run_cost = self.run_cost * sqrt(certainty)
            runs, others = runs_within_budget(
                hits, budget, max_words=self.max_words, run_cost=run_cost, between=between, relevance=relevance
            )
            if context.words is None:
                segments.append(sorted(runs + others, key=lambda run: run.order))
            elif budget < context.words:
                segments.append(runs)
            else:
                # After the runs: a better leaf that does not fit would end the list before runs that fit.
                segments.append(runs + others)
        return segments


def _relevance(hits: Sequence[Candidate]) -> tuple[dict[Span, float], float]:
    """The relevance of each hit, and the probability of the best one, which is 1 if scores are no probabilities."""
    scores = [each.score for each in hits]
    if all(each.trace.calibrated and each.trace.calibrated[-1].probability == each.score for each in hits):
        # Cubes, so that short leaves of little probability do not take the place of one more probable leaf.
        relevance, certainty = [each**3 for each in scores], max(scores, default=0.0)
    else:
        relevance, certainty = relevances(scores), 1.0
    return {hit.span: each for hit, each in zip(hits, relevance, strict=True)}, certainty


DEFAULT: Strategy = RelevantSegments()  # the strategy of a call that names no strategy
