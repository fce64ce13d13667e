"""Relevant segments: as much relevance as fits into the words asked for, in runs of leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from leafspan.budgeting import best_runs
from leafspan.errors import InvalidArgument
from leafspan.requests import Asking
from leafspan.strategies.hybrid import Hybrid
from leafspan.strategies.strategy import Reach, Strategy, check_base, is_number, whole
from leafspan.values import Found, Query

_LEAST = 24  # leaves asked of the base
_WORDS_A_LEAF = 15  # more leaves are asked for than a budget can hold, since some are passed over


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevantSegments:
    """Runs of leaves that hold as much relevance as the words asked for can, each where the text goes on being relevant.

    A leaf's relevance is its score in ``base``, which must mean something that can be added up, such as the probabilities
    of ``Hybrid``. A run is worth the relevance of its leaves less a price for each word, and for ``run_words`` more words
    for each run, so that small gaps are bridged. Of all ways to choose runs that do not overlap, of at most ``max_words``
    words each, the best one is found, exactly; and of all prices the lowest at which the runs fit the budget. What is left
    of the budget is filled with the best of the other leaves, which join a run that they touch where both together are no
    longer than that; so no passage has more than ``max_words`` (None: any), unless it is a single leaf. Best first, by the
    best leaf in each run, whose score it has.

    The budget decides how long the runs are: it is that of the call, or so many ``words`` where they are set, or else
    ``passage_words`` for each of the ``k`` passages asked for. Without a budget of the call, the leaves that did not fit
    are in the list as well, one by one.

    The base is asked for at least 24 leaves and one more for every 15 words of the budget: fewer ``candidates`` than that
    have no effect.

    Known from dsRAG as relevant segment extraction, there greedy and with a fixed cost.

    Raises:
        InvalidArgument: if ``base`` finds longer spans than leaves, ``words``, ``max_words`` or ``passage_words`` is not
            positive, or ``run_words`` is negative.
    """

    base: Strategy = field(default_factory=Hybrid)
    words: int | None = None
    max_words: int | None = 300
    run_words: float = 30
    passage_words: int = 75

    finds_spans: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_base(self.base)
        if self.words is not None:
            whole("words", self.words, 1)
        if self.max_words is not None:
            whole("max_words", self.max_words, 1)
        whole("passage_words", self.passage_words, 1)
        if not is_number(self.run_words) or self.run_words < 0:
            raise InvalidArgument(f"run_words must be a number >= 0, got {self.run_words!r}")

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        budget = self.words or reach.words or self.passage_words * (reach.k or _LEAST)
        candidates = max(reach.candidates, _LEAST + budget // _WORDS_A_LEAF)
        results = yield from self.base.retrieve(queries, replace(reach.below, candidates=candidates))
        found = []
        for hits in results:
            runs, others = best_runs(hits, budget, max_words=self.max_words, run_words=self.run_words)
            # A better leaf that did not fit would end the list before runs that do.
            found.append(runs if reach.words else sorted(runs + others, key=lambda run: run.order))
        return found
