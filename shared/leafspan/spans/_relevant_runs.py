"""Relevant segments: runs of leaves whose relevance is worth their words."""

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
    """A run of leaves of one document."""

    first: int
    last: int  # its last leaf, included
    value: float  # its relevance less its costs, > 0
    words: int


class RelevantLeaves:
    """A document's leaves with their relevance and words; chooses runs for any price of a word."""

    def __init__(self, values: Sequence[float], words: Sequence[int]) -> None:
        """Keep the leaves."""
        if len(values) != len(words):
            raise InvalidArgument(f"words must be one number a value, got {len(words)} for {len(values)} values")
        for value in values:
            _check_amount("values", value)
        for number in words:
            if not isinstance(number, int) or number < 0:
                raise InvalidArgument(f"words must be whole numbers >= 0, got {shown(number)}")
        # Sums are whole multiples of 1 / scale, so no sum is rounded: the denominator of a float is a power of two, so
        # the largest denominator is a multiple of all others.
        relevant = [place for place, value in enumerate(values) if value > 0]
        fractions = [values[place].as_integer_ratio() for place in relevant]
        self._scale = max((denominator for _, denominator in fractions), default=1)
        amounts = [numerator * (self._scale // denominator) for numerator, denominator in fractions]
        relevance_up_to = [0, *accumulate(amounts)]
        words_up_to = [0, *accumulate(words)]
        # For each leaf with relevance: its relevance and words, and the sums of both before it and up to its end.
        self._relevant = [
            (place, words[place], *relevance_up_to[number : number + 2], *words_up_to[place : place + 2])
            for number, place in enumerate(relevant)
        ]

    def best_runs(self, *, cost: float, max_words: int | None, run_cost: float = 0.0) -> list[Run]:
        """The runs of leaves with the highest total value, best first, then by position.

        The value of a run is the relevance of its leaves, less ``cost`` for each of its words, less ``run_cost``. Runs do
        not overlap, and no other choice of runs has a higher total value. A run starts and ends with a leaf that is worth
        more than its cost. Other leaves join a run only if bridging this gap costs less than a further run.

        Among choices with the same total value, fewer words win, then fewer runs (so only ``max_words``
        keeps touching runs apart), then earlier starts, then longer runs.

        Source: relevant segment extraction in dsRAG, which takes the best run, then the best of the rest, and so on. This
        solution is exact, and its time grows with the number of leaves.
        """
        _check_amount("cost", cost)
        _check_amount("run_cost", run_cost)
        if max_words is not None:
            check_whole("max_words", max_words, 1)
        costs = cost.as_integer_ratio(), run_cost.as_integer_ratio()
        scale = max(self._scale, *(denominator for _, denominator in costs))
        of_word, of_run = (numerator * (scale // denominator) for numerator, denominator in costs)
        of_value = scale // self._scale
        # Only a leaf that is worth more than its cost can start or end a run: any other leaf adds no value.
        leaves = [
            _Worth(
                place,
                of_value * value_before - of_word * words_before,
                of_value * value_after - of_word * words_after,
                words_before,
                words_after,
            )
            for place, words, value_before, value_after, words_before, words_after in self._relevant
            if of_value * (value_after - value_before) > of_word * words
        ]
        runs = [
            Run(
                leaves[first].place,
                leaves[last].place,
                (leaves[last].value_after - leaves[first].value_before - of_run) / scale,
                leaves[last].words_after - leaves[first].words_before,
            )
            for first, last in _best_choice(leaves, of_run, max_words)
        ]
        return sorted(runs, key=lambda run: (-run.value, run.first))


class _Worth:
    """A leaf worth more than its cost, with the sums of values and words before it and up to its end."""

    __slots__ = ("place", "value_after", "value_before", "words_after", "words_before")

    def __init__(self, place: int, value_before: int, value_after: int, words_before: int, words_after: int) -> None:
        self.place = place
        self.value_before = value_before
        self.value_after = value_after
        self.words_before = words_before
        self.words_after = words_after


def _best_choice(leaves: Sequence[_Worth], run_cost: int, max_words: int | None) -> list[tuple[int, int]]:
    """The best runs, in the order of the text, as (first, last) places in ``leaves``, by dynamic programming."""
    size = len(leaves)
    if not size:
        return []
    # One number compares value, then words, then runs: all words and runs weigh less than one unit of value, and
    # all runs weigh less than one word.
    word_weight = size + 1
    value_weight = word_weight * (leaves[-1].words_after + 1)
    run_weight = value_weight * run_cost + 1
    limit = inf if max_words is None else max_words

    best = [0] * (size + 1)  # at index i: the highest total of the leaves from i on
    lasts: list[int | None] = [None] * size  # the last leaf of the best run from i on, None for no run
    # Possible last leaves of a run from i on, with their totals, best first. A worse leaf stays only if it is nearer to i,
    # in case the better leaves are too far away.
    ends: deque[tuple[int, int]] = deque()
    for i in reversed(range(size)):
        leaf = leaves[i]
        end = best[i + 1] + value_weight * leaf.value_after - word_weight * leaf.words_after
        while ends and ends[-1][0] < end:
            ends.pop()
        ends.append((end, i))
        while ends[0][1] > i and leaves[ends[0][1]].words_after - leaf.words_before > limit:
            ends.popleft()
        total = ends[0][0] - value_weight * leaf.value_before + word_weight * leaf.words_before - run_weight
        if total >= best[i + 1]:
            lasts[i] = ends[0][1]
        best[i] = max(total, best[i + 1])

    runs: list[tuple[int, int]] = []
    i = 0
    while i < size:
        last = lasts[i]
        if last is not None:
            runs.append((i, last))
        i = (i if last is None else last) + 1
    return runs


def _check_amount(name: str, number: float) -> None:
    if not 0 <= number < inf:
        raise InvalidArgument(f"{name} must be >= 0 and finite, got {shown(number)}")
