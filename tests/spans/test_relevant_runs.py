from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument
from leafspan.spans._word_budget import RelevantLeaves, Run
from tests.profiles import examples

ONE_WORD = [1] * 100


def best_runs(values, words, **options):
    return RelevantLeaves(values, words).best_runs(**options)


def runs(values, words=None, *, cost=1.0, max_words=None, **options):
    """(first leaf, last leaf), best first, where each leaf is one word unless told otherwise."""
    found = best_runs(values, words or ONE_WORD[: len(values)], cost=cost, max_words=max_words, **options)
    return [(segment.first, segment.last) for segment in found]


# What a run is


def test_a_run_is_worth_its_relevance_less_its_words():
    [segment] = best_runs([0, 5, 4, 0], [10, 20, 30, 10], cost=0.125, max_words=None)
    assert segment == Run(1, 2, value=5 + 4 - 0.125 * (20 + 30), words=20 + 30)


def test_runs_come_best_first_then_by_position():
    assert runs([2, 0, 4, 0, 2]) == [(2, 2), (0, 0), (4, 4)]


def test_what_is_not_worth_its_words_is_left_out():
    assert runs([1, 0.5, 0]) == []
    assert runs([2, 3], [4, 2]) == [(1, 1)]


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0]])
def test_nothing_relevant_gives_nothing(values):
    assert runs(values, cost=0.0) == []


def test_without_a_cost_all_relevant_leaves_are_taken_and_no_other():
    assert runs([0, 1, 2, 0, 0, 3, 0], cost=0.0) == [(1, 2), (5, 5)]


# Gaps


def test_no_gap_is_bridged_where_a_run_more_costs_nothing():
    # Two runs are worth 2 + 2; one over the gap 2 - 1 + 2.
    assert runs([3, 0, 3]) == [(0, 0), (2, 2)]


@pytest.mark.parametrize(("run_cost", "expected"), [(0.5, [(0, 0), (2, 2)]), (1.5, [(0, 2)])])
def test_a_gap_is_bridged_where_it_costs_less_than_a_run_more(run_cost, expected):
    assert runs([3, 0, 3], run_cost=run_cost) == expected


def test_the_cost_of_a_run_is_taken_off_its_value():
    [segment] = best_runs([3, 0, 3], [1, 1, 1], cost=1, max_words=None, run_cost=1.5)
    assert segment.value == (3 + 0 + 3) - 1 * 3 - 1.5


def test_a_gap_that_costs_nothing_is_bridged_as_one_run_is_fewer_than_two():
    assert runs([3, 0, 3], [1, 0, 1]) == [(0, 2)]


# Limits


def test_a_run_has_at_most_max_words():
    assert runs([3, 2, 2], max_words=3) == [(0, 2)]
    assert runs([3, 2, 2], max_words=2) == [(0, 1), (2, 2)]
    assert runs([3, 0, 2], max_words=2, run_cost=1.5) == [(0, 0)]


def test_a_leaf_may_be_longer_than_a_run():
    assert runs([3, 9, 3], [1, 5, 1], max_words=3) == [(1, 1), (0, 0), (2, 2)]


# Ties


def test_of_equal_sums_the_one_with_fewer_words_is_taken():
    # The gap costs as much as the leaf behind it is worth.
    assert runs([3, 0, 2], run_cost=1) == [(0, 0)]


def test_of_equal_sums_the_earlier_is_taken():
    assert runs([2, 2, 2], max_words=2) == [(0, 1), (2, 2)]


def test_runs_that_touch_are_one_however_floats_round():
    # In floats, 0.1 + 0.2 + 0.3 depends on what is added first.
    assert runs([0.1, 0.2, 0.3, 0.1, 0.7], cost=0.01) == [(0, 4)]


# Laws


@st.composite
def problems(draw, numbers, max_size):
    size = draw(st.integers(0, max_size))
    values = draw(st.lists(st.just(0) | numbers, min_size=size, max_size=size))
    words = draw(st.lists(st.integers(0, 6), min_size=size, max_size=size))
    options = {
        "cost": draw(numbers),
        "max_words": draw(st.none() | st.integers(1, 15)),
        "run_cost": draw(st.just(0) | numbers),
    }
    return values, words, options


EIGHTHS = st.integers(0, 40).map(lambda number: number / 8)
FLOATS = st.floats(0, 10)


def sets_of_runs(size, start=0):
    """All ways to choose runs that do not overlap, each in the order of the text."""
    yield []
    for first in range(start, size):
        for last in range(first, size):
            for rest in sets_of_runs(size, last + 1):
                yield [(first, last), *rest]


def sums_of(chosen, values, words, cost, run_cost):
    """What a set of runs is worth, exactly, and how many words it has."""
    value, length = Fraction(0), 0
    for first, last in chosen:
        value += sum(map(Fraction, values[first : last + 1])) - Fraction(run_cost)
        value -= Fraction(cost) * sum(words[first : last + 1])
        length += sum(words[first : last + 1])
    return value, length


def fits(chosen, words, max_words):
    return all(first == last or max_words is None or sum(words[first : last + 1]) <= max_words for first, last in chosen)


@examples(150)
@given(st.one_of(problems(EIGHTHS, 8), problems(FLOATS, 7)))
def test_the_best_set_of_all_is_found(problem):
    values, words, options = problem
    found = best_runs(values, words, **options)

    def rank(chosen):
        value, length = sums_of(chosen, values, words, options["cost"], options["run_cost"])
        return (-value, length, len(chosen), [(first, -last) for first, last in chosen])

    every = [s for s in sets_of_runs(len(values)) if fits(s, words, options["max_words"])]
    gaining = {i for i, value in enumerate(values) if Fraction(value) > Fraction(options["cost"]) * words[i]}
    best = min(map(rank, every))
    best_of_gaining = min(rank(s) for s in every if all({first, last} <= gaining for first, last in s))
    ours = rank(sorted((segment.first, segment.last) for segment in found))

    assert ours == best_of_gaining
    assert ours[:3] == best[:3]


@examples(200)
@given(problems(FLOATS, 40))
def test_runs_are_apart_within_the_limits_and_of_the_value_they_say(problem):
    values, words, options = problem
    found = best_runs(values, words, **options)
    ordered = sorted((segment.first, segment.last) for segment in found)

    assert found == sorted(found, key=lambda segment: (-segment.value, segment.first))
    assert fits(ordered, words, options["max_words"])
    for segment in found:
        value, length = sums_of([(segment.first, segment.last)], values, words, options["cost"], options["run_cost"])
        assert value > 0
        assert (segment.value, segment.words) == (float(value), length)
    for (first, last), (next_first, next_last) in pairwise(ordered):
        assert last < next_first
        if last + 1 == next_first:
            assert options["max_words"] is not None
            assert sum(words[first : next_last + 1]) > options["max_words"]


@examples(100)
@given(problems(EIGHTHS, 12))
def test_taking_the_best_run_again_and_again_is_never_better(problem):
    values, words, options = problem
    taken: list[tuple[int, int]] = []
    while True:
        free = [
            (first, last)
            for first in range(len(values))
            for last in range(first, len(values))
            if all(last < f or first > e for f, e in taken) and fits([(first, last)], words, options["max_words"])
        ]
        worth = {run: sums_of([run], values, words, options["cost"], options["run_cost"])[0] for run in free}
        if not free or max(worth.values()) <= 0:
            break
        taken.append(max(free, key=worth.__getitem__))

    greedy, _ = sums_of(taken, values, words, options["cost"], options["run_cost"])
    assert sum(Fraction(segment.value) for segment in best_runs(values, words, **options)) >= greedy


# Errors


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"values": [1, -0.5]}, "scores must be >= 0 and finite, got -0.5"),
        ({"values": [1, nan]}, "scores must be >= 0 and finite, got nan"),
        ({"values": [1, inf]}, "scores must be >= 0 and finite, got inf"),
    ],
)
def test_what_is_out_of_range_is_refused(wrong, message):
    arguments = {"values": [1, 2], "words": [1, 1], "cost": 1, "max_words": None, **wrong}
    with pytest.raises(InvalidArgument, match=message):
        best_runs(arguments.pop("values"), arguments.pop("words"), **arguments)
