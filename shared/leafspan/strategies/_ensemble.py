"""Ensembles: several retrievers run at once, and their results are fused into one list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafspan.checks import check_choice, check_number, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.strategies._fuse import (
    ON_FAILURE,
    Fusion,
    OnFailure,
    Ranked,
    fuse,
    left_out,
    noted,
    split_failures,
    to_fusion,
)
from leafspan.strategies._other_sources import HostRetriever
from leafspan.strategies._over_base import Filtered, Watched
from leafspan.strategies._requests import RetrievalContext, RunStrategies, StrategyFlow, StrategyResults, StrategyRun
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble(Strategy):
    """The fused results of two or more ``retrievers``, which run at the same time.

    If all of them find single leaves, so does the ensemble. Otherwise spans that overlap become one passage, which has
    been found by each retriever that found one of them.

    Args:
        retrievers: Two or more strategies.
        weights: A number > 0 for each retriever; except for ``"maximum"``, only their ratios count. Default: equal ones.
        fusion: What a score means. Default: ``"rrf"``. Names of LlamaIndex and Haystack are understood as well.
            ``"rrf"``, reciprocal rank fusion: the weighted mean of 1 / (rank_constant + rank), for scores that cannot be
            compared. ``"relative_score"``: the weighted mean of the scores, each retriever's scaled to [0, 1], so that
            its last result adds nothing. ``"distribution_based"``: the same, but a retriever's mean becomes 0.5, and
            three standard deviations from it 0 and 1. Among n results, a score is at most 0.5 + sqrt(n - 1) / 6.
            ``"maximum"``: the best of the retrievers' own scores, each times its weight.
        rank_constant: The constant of ``"rrf"``, >= 0. Default: 60.
        timeout: Seconds that a retriever may take, > 0: one number for all, or one for each (None for no limit). A
            retriever that takes longer counts as failed, and goes on in the background. Default: no limit.
        on_failure: ``"raise"`` raises the error of the first retriever that failed, with a note that names it.
            ``"skip"`` fuses the others, and says so in the trace of each passage. An InvalidArgument and the failure
            of all retrievers are always raised. Default: ``"raise"``.
        min_candidates: Fewest leaves that each retriever is asked for, >= 1. Default: as many as the ensemble is asked for.
        names: A name for each retriever, for traces and errors. Default: the names of their classes.

    Raises:
        InvalidArgument: if an option is out of its range.

    Ties are ordered by document id, then position. Source of ``"rrf"``: Cormack et al., SIGIR 2009.
    """

    retrievers: Sequence[Strategy]
    weights: Sequence[float] | None = None
    fusion: Fusion = "rrf"
    rank_constant: float = 60
    timeout: float | Sequence[float | None] | None = None
    on_failure: OnFailure = "raise"
    min_candidates: int | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.retrievers, Sequence) or isinstance(self.retrievers, str) or len(self.retrievers) < 2:
            raise InvalidArgument(f"retrievers must be two or more strategies, got {shown(self.retrievers)}")
        for number, retriever in enumerate(self.retrievers, start=1):
            check_strategy(f"retriever {number}", retriever)
        object.__setattr__(self, "retrievers", tuple(self.retrievers))
        for name in ("weights", "timeout", "names"):
            object.__setattr__(self, name, _one_each(name, getattr(self, name), len(self.retrievers)))
        object.__setattr__(self, "fusion", to_fusion(self.fusion))
        for weight in self.weights or ():
            check_number("weights", weight, above=0)
        check_number("rank_constant", self.rank_constant, at_least=0)
        for timeout in self._timeouts:
            if timeout is not None:
                check_number("timeout", timeout, above=0, unit="seconds")
        keep_whole(self, "min_candidates", 1, optional=True)
        if self.names is not None:
            if not all(isinstance(name, str) and name.strip() for name in self.names):
                raise InvalidArgument(f"names must be texts that are not blank, got {shown(self.names)}")
            if len(set(self.names)) < len(self.names):
                raise InvalidArgument(f"names must differ from each other, got {shown(self.names)}")
        check_choice("on_failure", self.on_failure, ON_FAILURE)

    @property
    def finds_spans(self) -> bool:
        return any(retriever.finds_spans for retriever in self.retrievers)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """All retrievers run at once."""
        deep = replace(context.for_base, candidates=max(context.candidates, self.min_candidates or 0))
        with_timeouts = zip(self.retrievers, self._timeouts, strict=True)
        runs = tuple(StrategyRun(retriever, queries, deep, timeout) for retriever, timeout in with_timeouts)
        answers: list[StrategyResults] = yield RunStrategies(runs)
        names = self.names or _readable_names(self.retrievers)
        weights = self.weights or [1.0] * len(self.retrievers)
        called = [f"retriever {number} ({name})" for number, name in enumerate(names, start=1)]
        outcomes, failed = split_failures(called, answers, on_failure=self.on_failure, owner="ensemble")
        present = [each for each in zip(names, weights, outcomes, strict=True) if each[2] is not None]
        if not present:
            raise noted(failed, "ensemble")
        notes = left_out(failed)
        results = []
        for each in range(len(queries)):
            lists = [Ranked(name, rows[each], weight) for name, weight, rows in present if rows is not None]
            fused = fuse(lists, fusion=self.fusion, rank_constant=self.rank_constant, notes=notes)
            results.append(fused[: context.candidates])
        return results

    @property
    def _timeouts(self) -> Sequence[float | None]:
        if isinstance(self.timeout, Sequence):
            return self.timeout
        return [self.timeout] * len(self.retrievers)


_RULES = {"weights": "a list of numbers", "timeout": "a number of seconds, or a list of such", "names": "a list of texts"}


def _one_each(name: str, value: Any, retrievers: int) -> Any:
    """A list with one option for each retriever, checked, as a tuple."""
    if value is None or (name == "timeout" and not isinstance(value, Sequence)):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != retrievers:
        raise InvalidArgument(
            f"{name} must be {_RULES[name]}, one for each of the {retrievers} retrievers, got {shown(value)}"
        )
    return tuple(value)


def _readable_names(retrievers: Sequence[Strategy]) -> list[str]:
    """Names such as ``sentence window`` or a host retriever's class, with numbers where two names are the same."""
    bare = [_bare(each) for each in retrievers]
    names = [each.name if isinstance(each, HostRetriever) else _readable(type(each).__name__) for each in bare]
    return [
        f"{name} {names[:place].count(name) + 1}" if names.count(name) > 1 else name for place, name in enumerate(names)
    ]


def _bare(strategy: Strategy) -> Strategy:
    """The strategy without the wrapper that an adapter put around it."""
    return _bare(strategy.base) if isinstance(strategy, Filtered | Watched) else strategy


def _readable(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).split()
    return " ".join(word if word.isupper() else word.lower() for word in words)
