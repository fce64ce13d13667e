"""Relevant segments: the runs of leaves that are worth their words."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from leafspan.checks import check_whole
from leafspan.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Run:
    """The leaves ``first`` to ``last`` (both included) of a document, worth ``value`` > 0, ``words`` long."""

    first: int
    last: int
    value: float
    words: int


def best_runs(
    values: Sequence[float],
    words: Sequence[int],
    *,
    cost: float,
    max_words: int | None,
    count: int | None = None,
    run_cost: float = 0.0,
) -> list[Run]:
    """The runs of leaves of one document that have the highest value in all, best first, then by position.

    ``values[i]`` >= 0 is the relevance of leaf i, ``words[i]`` its length. A run is worth the relevance of its leaves, less
    ``cost`` for each of its words, less ``run_cost``. Runs do not overlap, have at most ``max_words`` (None: any; a single
    leaf may be longer), and are at most ``count`` (None: any). No other choice of runs has a higher sum of values. Of
    those with an equal sum, the one with fewer words, then of fewer runs, so that only ``max_words`` parts runs that touch;
    then that whose runs start earlier, then go on longer. A run begins and ends with a leaf that is worth more than it
    costs.

    A leaf that costs more than it is worth is taken in between two that do not, where the gap costs less than a run more
    would: less than ``run_cost``, or than what is lost for want of ``count``. With neither, no gap is ever bridged.

    Known as relevant segment extraction (dsRAG), where the best run is taken, then the best of what is left, and so on.
    This is exact, and takes time in proportion to the leaves, times ``count`` if it is given. Sums are not rounded.

    Raises:
        InvalidArgument: if ``values`` and ``words`` differ in length, a value or a cost is negative or not finite, a
            number of words is not whole or negative, or a limit is not a whole number >= 1.
    """
    _check(values, words, cost, max_words, count, run_cost)
    sums = _sums(values, words, cost, run_cost)
    runs = _best_runs(sums, max_words, None)
    if count is not None and len(runs) > count:
        runs = _best_runs(sums, max_words, count)
    segments = [sums.segment(first, last) for first, last in runs]
    return sorted(segments, key=lambda segment: (-segment.value, segment.first))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over all leaves before, and up to, each of ``leaves``: those worth more than they cost.

    A run that begins or ends with any other leaf is no better without it. Values are whole numbers of 1 / ``scale``.
    """

    scale: int
    run_cost: int
    leaves: list[int]
    value_before: list[int]
    value_after: list[int]
    words_before: list[int]
    words_after: list[int]

    def segment(self, first: int, last: int) -> Run:
        """The run between two of ``leaves``, by their places in that list."""
        value = self.value_after[last] - self.value_before[first] - self.run_cost
        words = self.words_after[last] - self.words_before[first]
        return Run(self.leaves[first], self.leaves[last], value / self.scale, words)


def _sums(values: Sequence[float], words: Sequence[int], cost: float, run_cost: float) -> _Sums:
    # Most leaves have no relevance: only the few that have are looked at one by one.
    relevant = [i for i, value in enumerate(values) if value > 0]
    # A float is a fraction whose denominator is a power of two, so the largest of these serves them all.
    fractions = [values[i].as_integer_ratio() for i in relevant]
    prices = cost.as_integer_ratio(), run_cost.as_integer_ratio()
    scale = max(denominator for _, denominator in (*fractions, *prices))
    price, price_of_run = (numerator * (scale // denominator) for numerator, denominator in prices)

    words_up_to = list(accumulate(words, initial=0))
    sums = _Sums(scale, price_of_run, [], [], [], [], [])
    relevance = 0
    for i, (numerator, denominator) in zip(relevant, fractions, strict=True):
        value = numerator * (scale // denominator)
        if value > price * words[i]:
            sums.leaves.append(i)
            sums.value_before.append(relevance - price * words_up_to[i])
            sums.value_after.append(relevance + value - price * words_up_to[i + 1])
            sums.words_before.append(words_up_to[i])
            sums.words_after.append(words_up_to[i + 1])
        relevance += value
    return sums


def _best_runs(sums: _Sums, max_words: int | None, count: int | None) -> list[tuple[int, int]]:
    """The best runs, in the order of the text, as (first, last) places in ``sums.leaves``."""
    size = len(sums.leaves)
    if not size:
        return []
    # Value first, then words, then runs, in one number: the sum of what comes later is less than one of what is before.
    of_word, of_value = size + 1, (size + 1) * (sums.words_after[-1] + 1)
    before = [of_value * v - of_word * w for v, w in zip(sums.value_before, sums.words_before, strict=True)]
    after = [of_value * v - of_word * w for v, w in zip(sums.value_after, sums.words_after, strict=True)]
    of_run = of_value * sums.run_cost + 1
    limit = inf if max_words is None else max_words

    # best[i] is what the leaves from i on are worth, with so many runs as there were rounds, or with any number.
    best = [0] * (size + 1)
    rounds: list[list[int | None]] = []
    for _ in range(count or 1):
        rest = best
        best = [0] * (size + 1) if count else rest
        lasts: list[int | None] = [None] * size
        # The last leaves that a run from i may have and be best, best first; further back, they are nearer to i.
        ends: deque[tuple[int, int]] = deque()
        for i in reversed(range(size)):
            end = rest[i + 1] + after[i]
            while ends and ends[-1][0] < end:
                ends.pop()
            ends.append((end, i))
            while ends[0][1] > i and sums.words_after[ends[0][1]] - sums.words_before[i] > limit:
                ends.popleft()
            worth = ends[0][0] - before[i] - of_run
            if worth >= best[i + 1]:
                lasts[i] = ends[0][1]
            best[i] = max(worth, best[i + 1])
        rounds.append(lasts)

    runs: list[tuple[int, int]] = []
    i = 0
    while i < size and (count is None or rounds):
        last = rounds[-1][i]
        if last is None:
            i += 1
        else:
            runs.append((i, last))
            i = last + 1
            if count:
                rounds.pop()
    return runs


def _check(
    values: Sequence[float],
    words: Sequence[int],
    cost: float,
    max_words: int | None,
    count: int | None,
    run_cost: float,
) -> None:
    if len(values) != len(words):
        raise InvalidArgument(f"words must be one number a value, got {len(words)} for {len(values)} values")
    for name, amount in (("values", values), ("cost", (cost,)), ("run_cost", (run_cost,))):
        for number in amount:
            if not 0 <= number < inf:
                raise InvalidArgument(f"{name} must be >= 0 and finite, got {number!r}")
    for number in words:
        if not isinstance(number, int) or number < 0:
            raise InvalidArgument(f"words must be whole numbers >= 0, got {number!r}")
    for name, limit in (("max_words", max_words), ("count", count)):
        if limit is not None:
            check_whole(name, limit, 1)
