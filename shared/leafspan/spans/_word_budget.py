"""The runs of leaves with the most relevance that fits into a number of words, at a price of a word."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, pairwise
from math import inf
from typing import NamedTuple

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.spans._packing import longest_prefix
from leafspan.spans._windows import one_of
from leafspan.trace import Filled, Trace
from leafspan.values import Candidate, LeafId, Span


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
        for value in values:
            if not 0 <= value < inf:
                raise InvalidArgument(f"scores must be >= 0 and finite, got {shown(value)}")
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


class _Worth(NamedTuple):
    """A leaf worth more than its cost, with the sums of values and words before it and up to its end."""

    place: int
    value_before: int
    value_after: int
    words_before: int
    words_after: int


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


_CHARACTERS_A_WORD = 10
_ABOVE = 1 + 1e-9  # a factor larger than any rounding error


def runs_within_budget(
    hits: Sequence[Candidate],
    budget: int,
    *,
    max_words: int | None,
    run_cost: float,
    between: Iterable[Candidate] = (),
    relevance: Mapping[Span, float] | None = None,
) -> tuple[list[Candidate], list[Candidate]]:
    """The runs of hits with the highest total relevance that fit into the budget, and the hits that are in no run.

    The relevance of a hit is its score, unless it is given. Runs are chosen for a price of a word. The prices are the
    hits' relevance divided by their words. leafspan takes the lowest price at which the runs fit into the budget. If
    they fit at all of these prices, the price falls until each hit is worth a run of its own. If all runs at a price
    are too long together, and no higher price has a run, the run with the best leaf comes first, and others follow as
    far as they fit. The rest of the budget is filled with the best other hits, up to the first that does not fit. A hit
    that touches a run joins it.
    """
    gaps = [(leaf, leaf.span.first) for leaf in between]
    unscored = [replace(leaf, score=0.0, trace=Trace(filled=(Filled(place, place, 0.0),))) for leaf, place in gaps]
    worth = {hit.span: max(hit.score, 0.0) for hit in hits} if relevance is None else relevance
    gapless = [
        _Gapless(run, [worth.get(hit.span, 0.0) for hit in run], [hit.words or 0 for hit in run], run_cost)
        for run in sorted(_gapless_runs([*hits, *unscored]), key=len)
    ]
    chosen = _best_fitting_runs(gapless, budget, max_words, run_cost)
    left = budget - _words(chain.from_iterable(chosen))
    taken = {hit.span for hit in chain.from_iterable(chosen)}
    others = sorted((hit for hit in hits if hit.span not in taken), key=lambda hit: hit.order)
    filling = longest_prefix(others, (hit.words or 0 for hit in others), left, least=0 if chosen else 1)
    united = []
    for run in _joined([*chosen, *([leaf] for leaf in filling)], max_words):
        one = one_of(sorted(run, key=lambda hit: hit.order))
        united.append(one if len(run) == 1 else replace(one, words=_words(run)))
    return sorted(united, key=lambda run: run.order), others[len(filling) :]


def _best_fitting_runs(
    gapless: Sequence[_Gapless], budget: int, max_words: int | None, run_cost: float
) -> list[list[Candidate]]:
    """The runs at the lowest price of a word that fits the budget, found by bisection."""
    paying = [
        (value, words) for some in gapless for value, words in zip(some.values, some.words, strict=True) if value and words
    ]
    # A little more, so that rounding cannot decide whether a leaf is worth its own price.
    prices = sorted({value / words * _ABOVE for value, words in paying}, reverse=True)
    fitting: list[tuple[_Gapless, Run]] = []
    low, high = 0, len(prices)
    while low < high:  # at a lower price, runs have more words
        middle = (low + high) // 2
        runs_there = _runs_at_price(gapless, prices[middle], max_words, budget)
        if sum([run.words for _, run in runs_there]) <= budget:
            fitting, low = runs_there, middle + 1
        else:
            high = middle
    chosen = _hits_in(fitting)
    if high < len(prices):
        return chosen or _with_those_that_fit(chosen, gapless, budget, prices[high], max_words)
    # No price of 0: then runs would be free, and no gap would be bridged.
    lowest = min((value / (words + run_cost) for value, words in paying), default=0.0) / 2
    if not lowest:
        return chosen
    runs = _hits_in(_runs_at_price(gapless, lowest, max_words))
    if _words(chain.from_iterable(runs)) <= budget:
        return runs
    return _with_those_that_fit(chosen, gapless, budget, lowest, max_words)


def _with_those_that_fit(
    chosen: Sequence[list[Candidate]], gapless: Iterable[_Gapless], budget: int, price: float, max_words: int | None
) -> list[list[Candidate]]:
    """The chosen runs, and the best runs at a lower price that fit into the budget beside or around them."""
    runs = list(chosen)
    taken = {hit.span for hit in chain.from_iterable(chosen)}
    left = budget - _words(chain.from_iterable(chosen))
    longest = max(1, left if max_words is None else min(left, max_words))
    # The words of chosen runs are already paid for.
    more = _hits_in(_runs_at_price((some.with_free(taken) for some in gapless), price, longest))
    for run in sorted(more, key=lambda run: min(hit.order for hit in run)):
        spans = {hit.span for hit in run}
        words = _words(hit for hit in run if hit.span not in taken)
        if words > left:
            break
        if words and (max_words is None or _words(run) <= max_words):
            runs = [*(each for each in runs if each[0].span not in spans), run]
            left -= words
    return runs


def _words(hits: Iterable[Candidate]) -> int:
    return sum(hit.words or 0 for hit in hits)


def _joined(runs: Iterable[list[Candidate]], max_words: int | None) -> list[list[Candidate]]:
    """The runs, with touching runs joined as long as they have at most ``max_words``, from the start of the text on."""
    joined: list[list[Candidate]] = []
    for run in sorted(runs, key=lambda run: _place(run[0])):
        fits = max_words is None or not joined or _words(joined[-1]) + _words(run) <= max_words
        if joined and fits and _follows(joined[-1][-1], run[0]):
            joined[-1] += run
        else:
            joined.append(list(run))
    return joined


def _gapless_runs(hits: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """The leaves as runs without gaps, by document and position."""
    gapless: list[Candidate] = []
    for hit in sorted(hits, key=_place):
        if gapless and not _follows(gapless[-1], hit):
            yield gapless
            gapless = []
        gapless.append(hit)
    if gapless:
        yield gapless


def _place(hit: Candidate) -> tuple[str, str, int]:
    """A sorting key: document, then position."""
    return hit.span.document_id, hit.span.version, hit.span.first


def _follows(one: Candidate, other: Candidate) -> bool:
    """Whether ``other`` starts right after the last leaf of ``one``."""
    before, after = one.span, other.span
    return (before.document_id, before.version, before.last + 1) == (after.document_id, after.version, after.first)


@dataclass(frozen=True)
class _Gapless:
    """Leaves without a gap between them, with the relevance and the words of each, and the price of a run in words."""

    hits: Sequence[Candidate]
    values: Sequence[float]
    words: Sequence[int]
    run_cost: float

    @cached_property
    def highest_price(self) -> float:
        """The price of a word from which on no run is worth its cost, up to rounding."""
        highest, value, words = 0.0, 0.0, self.run_cost
        by_price = sorted(
            zip(self.values, self.words, strict=True), key=lambda leaf: leaf[0] / (leaf[1] or 1e-9), reverse=True
        )
        for of_leaf, words_of_leaf in by_price:
            value, words = value + of_leaf, words + words_of_leaf
            highest = max(highest, value / words if words else inf)
        return highest

    @cached_property
    def _leaves(self) -> RelevantLeaves:
        return RelevantLeaves(self.values, self.words)

    def with_free(self, spans: Container[Span]) -> _Gapless:
        """The same leaves; the words of some cost nothing."""
        words = [0 if hit.span in spans else count for hit, count in zip(self.hits, self.words, strict=True)]
        return _Gapless(self.hits, self.values, words, self.run_cost)

    def runs_at(self, price: float, max_words: int | None) -> list[Run]:
        """The best runs at this price of a word. Where it is clear what they are, nothing is added up exactly."""
        if price > self.highest_price * _ABOVE:
            return []
        if len(self.hits) == 1 and price * _ABOVE < self.highest_price:
            return [Run(0, 0, self.values[0] - price * (self.words[0] + self.run_cost), self.words[0])]
        return self._leaves.best_runs(cost=price, max_words=max_words, run_cost=self.run_cost * price)


def _runs_at_price(
    gapless: Iterable[_Gapless], price: float, max_words: int | None, budget: float = inf
) -> list[tuple[_Gapless, Run]]:
    """The best runs at this price of a word, each with its gapless leaves; not all if these are over the budget."""
    runs = []
    for some in gapless:
        for run in some.runs_at(price, max_words):
            runs.append((some, run))
            budget -= run.words
        if budget < 0:
            break
    return runs


def _hits_in(runs: Iterable[tuple[_Gapless, Run]]) -> list[list[Candidate]]:
    return [list(some.hits[run.first : run.last + 1]) for some, run in runs]


def short_gaps(hits: Sequence[Candidate], words: float) -> list[LeafId]:
    """The ids of the leaves between two hits of a document if these leaves may have at most ``words`` words.

    Unloaded leaves have an unknown number of words, but a known number of characters between two hits. leafspan takes a
    word as up to ten characters, with the space after it, which is more than in most texts of most languages.
    """
    ids: list[LeafId] = []
    ordered = sorted((hit for hit in hits if hit.leaf is not None), key=_place)
    for one, other in pairwise(ordered):
        assert one.leaf is not None
        assert other.leaf is not None
        same = (one.span.document_id, one.span.version) == (other.span.document_id, other.span.version)
        if same and 0 < other.leaf.start - one.leaf.end <= _CHARACTERS_A_WORD * words:
            ids += [one.id._replace(ordinal=each) for each in range(one.span.last + 1, other.span.first)]
    return ids
