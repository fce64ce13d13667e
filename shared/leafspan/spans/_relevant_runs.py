"""Relevant segments: the runs of leaves whose relevance is worth their words."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from leafspan.checks import check_whole, shown
from leafspan.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Run:
    """A run of leaves of one document.

    Attributes:
        first: Its first leaf.
        last: Its last leaf, included.
        value: Its relevance less its costs, > 0.
        words: Its length in words.
    """

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
    """The runs of leaves of one document with the highest total value, best first, then by position.

    The value of a run is the relevance of its leaves, less ``cost`` for each of its words, less ``run_cost``. Runs do not
    overlap, and no other choice of runs has a higher total value. A run begins and ends with a leaf that is worth more than
    it costs. Other leaves are part of a run only if bridging this gap costs less than a further run: less than
    ``run_cost``, or less than what would be lost because of ``count``. Without these two, no gap is bridged.

    Raises:
        InvalidArgument: if ``values`` and ``words`` differ in length, or a number is out of its range or not finite.

    Of choices with the same total value, it is the one with fewer words, then with fewer runs (so only ``max_words`` keeps
    touching runs apart), then the one whose runs start earlier, then the one whose runs are longer.

    Source: relevant segment extraction in dsRAG, which takes the best run, then the best of the rest, and so on. This
    solution is exact, and sums are not rounded. Its time grows with the number of leaves, times ``count`` if that is given.
    """
    _check(values, words, cost, max_words, count, run_cost)
    sums = _prefix_sums(values, words, cost, run_cost)
    places = _best_choice(sums, max_words, None)
    if count is not None and len(places) > count:
        places = _best_choice(sums, max_words, count)
    runs = [sums.run(first, last) for first, last in places]
    return sorted(runs, key=lambda run: (-run.value, run.first))


@dataclass(frozen=True, slots=True)
class _PrefixSums:
    """Sums over the leaves of a document, at each leaf that is worth more than it costs.

    Only such a leaf can begin or end a run, since any other would make the run no better.

    Attributes:
        scale: The unit of all values is 1 / ``scale``, so that they are whole numbers.
        run_cost: Cost of a run.
        leaves: The leaves that are worth more than they cost.
        value_before: Value of all leaves before each of these.
        value_after: The same, with the leaf itself.
        words_before: Words of all leaves before each of these.
        words_after: The same, with the leaf itself.
    """

    scale: int
    run_cost: int
    leaves: list[int]
    value_before: list[int]
    value_after: list[int]
    words_before: list[int]
    words_after: list[int]

    def run(self, first: int, last: int) -> Run:
        """The run from one of ``leaves`` to another, given by their places in that list."""
        value = self.value_after[last] - self.value_before[first] - self.run_cost
        words = self.words_after[last] - self.words_before[first]
        return Run(self.leaves[first], self.leaves[last], value / self.scale, words)


def _prefix_sums(values: Sequence[float], words: Sequence[int], cost: float, run_cost: float) -> _PrefixSums:
    """The sums as whole numbers, so that nothing is rounded."""
    # Most leaves have no relevance; the loop below visits only the few that have some.
    relevant = [i for i, value in enumerate(values) if value > 0]
    # The denominator of a float is a power of two, so the largest denominator is a multiple of all others.
    fractions = [values[i].as_integer_ratio() for i in relevant]
    costs = cost.as_integer_ratio(), run_cost.as_integer_ratio()
    scale = max(denominator for _, denominator in (*fractions, *costs))
    word_price, run_price = (numerator * (scale // denominator) for numerator, denominator in costs)

    words_up_to = list(accumulate(words, initial=0))
    sums = _PrefixSums(scale, run_price, [], [], [], [], [])
    relevance = 0
    for i, (numerator, denominator) in zip(relevant, fractions, strict=True):
        value = numerator * (scale // denominator)
        if value > word_price * words[i]:
            sums.leaves.append(i)
            sums.value_before.append(relevance - word_price * words_up_to[i])
            sums.value_after.append(relevance + value - word_price * words_up_to[i + 1])
            sums.words_before.append(words_up_to[i])
            sums.words_after.append(words_up_to[i + 1])
        relevance += value
    return sums


def _best_choice(sums: _PrefixSums, max_words: int | None, count: int | None) -> list[tuple[int, int]]:
    """The best runs, in the order of the text, as (first, last) places in ``sums.leaves``."""
    size = len(sums.leaves)
    if not size:
        return []
    rounds = _best_last_leaves(sums, max_words, count)
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


def _best_last_leaves(sums: _PrefixSums, max_words: int | None, count: int | None) -> list[list[int | None]]:
    """The last leaf of the best run from each leaf on, None if no run should begin there, by dynamic programming.

    With ``count``, round n (from 0) is for at most n + 1 runs. Otherwise there is one round, for any number of runs.
    """
    size = len(sums.leaves)
    # One number compares value, then words, then runs: all words and runs together weigh less than one unit of value, and
    # all runs together less than one word.
    word_weight, value_weight = size + 1, (size + 1) * (sums.words_after[-1] + 1)
    before = [value_weight * v - word_weight * w for v, w in zip(sums.value_before, sums.words_before, strict=True)]
    after = [value_weight * v - word_weight * w for v, w in zip(sums.value_after, sums.words_after, strict=True)]
    run_weight = value_weight * sums.run_cost + 1
    limit = inf if max_words is None else max_words

    best = [0] * (size + 1)  # at index i: the highest total of the leaves from i on
    rounds: list[list[int | None]] = []
    for _ in range(count or 1):
        rest = best  # with a count, the totals with one run less
        best = [0] * (size + 1) if count else rest
        lasts: list[int | None] = [None] * size
        # Possible last leaves of a run from i on, with their totals, best first. A worse one is kept only if it is nearer
        # to i, for when the better ones are too far away.
        ends: deque[tuple[int, int]] = deque()
        for i in reversed(range(size)):
            end = rest[i + 1] + after[i]
            while ends and ends[-1][0] < end:
                ends.pop()
            ends.append((end, i))
            while ends[0][1] > i and sums.words_after[ends[0][1]] - sums.words_before[i] > limit:
                ends.popleft()
            total = ends[0][0] - before[i] - run_weight
            if total >= best[i + 1]:
                lasts[i] = ends[0][1]
            best[i] = max(total, best[i + 1])
        rounds.append(lasts)
    return rounds


def _check(
    values: Sequence[float],
    words: Sequence[int],
    cost: float,
    max_words: int | None,
    count: int | None,
    run_cost: float,
) -> None:
    """Check the arguments of ``best_runs``."""
    if len(values) != len(words):
        raise InvalidArgument(f"words must be one number a value, got {len(words)} for {len(values)} values")
    for name, amount in (("values", values), ("cost", (cost,)), ("run_cost", (run_cost,))):
        for number in amount:
            if not 0 <= number < inf:
                raise InvalidArgument(f"{name} must be >= 0 and finite, got {shown(number)}")
    for number in words:
        if not isinstance(number, int) or number < 0:
            raise InvalidArgument(f"words must be whole numbers >= 0, got {shown(number)}")
    for name, limit in (("max_words", max_words), ("count", count)):
        if limit is not None:
            check_whole(name, limit, 1)
