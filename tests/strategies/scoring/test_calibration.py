"""From fused scores to probabilities: the formula by hand, and what every probability of a question must fulfil."""

from __future__ import annotations

from itertools import pairwise, permutations
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies.scoring import answer_probability, probability, relevances, total_weight
from tests.profiles import examples

# Fused scores as Hybrid has them: shares of the best of each search, with bonuses of neighbours.
scores = st.floats(-0.5, 2.5)
fused_scores = st.lists(scores, min_size=1, max_size=20)
shares = st.floats(0, 1)
sizes = st.integers(1, 10**8)

# The fitted numbers. Whoever fits them anew (benchmarks/calibration.py --fit) changes them here, too.
A, B, C, D = 13.7, 5.7, 0.74, 9.0


def probabilities(fused, answer):
    total = total_weight(fused)
    return [probability(score, total, answer) for score in fused]


# By hand


def test_the_odds_of_an_answer_are_those_of_the_formula():
    odds = exp(A) * (0.3 + 0.02) ** B / 1_000**C
    assert answer_probability(0.3, 1_000) == pytest.approx(odds / (1 + odds), rel=1e-12)
    assert answer_probability(0.0, 1) == pytest.approx(1 / (1 + exp(-A) / 0.02**B))


def test_the_larger_the_index_is_the_more_of_the_words_must_be_there():
    # The share of the question's words from which on an answer is likelier than none.
    for leaves, share in {12: 0.10, 150: 0.15, 1_000: 0.20, 20_000: 0.31, 1_000_000: 0.52}.items():
        assert answer_probability(share - 0.02, leaves) < 0.5 < answer_probability(share + 0.02, leaves)


def test_the_leaves_share_that_probability_by_their_weights():
    total = exp(D * 0.9) + exp(D * 0.5)
    assert total_weight([0.9, 0.5]) == pytest.approx(total, rel=1e-12)
    assert probabilities([0.9, 0.5], 0.8) == [
        pytest.approx(0.8 * exp(D * 0.9) / total),
        pytest.approx(0.8 * exp(D * 0.5) / total),
    ]
    assert probabilities([1.0], 0.8) == [pytest.approx(0.8)]


# Laws


@examples(200)
@given(shares, shares, sizes, sizes)
def test_an_answer_is_likelier_the_more_words_are_there_and_the_fewer_leaves(one, other, few, many):
    (low, high), (few, many) = sorted([one, other]), sorted([few, many])
    assert 0 <= answer_probability(low, many) <= answer_probability(high, many) <= answer_probability(high, few) < 1


@examples(200)
@given(fused_scores, shares)
def test_probabilities_are_in_their_range_and_sum_to_that_of_an_answer(fused, answer):
    found = probabilities(fused, answer)
    assert all(0 <= each <= 1 for each in found)
    assert sum(found) == pytest.approx(answer, abs=1e-12)


@examples(200)
@given(fused_scores, st.floats(0.01, 1))
def test_the_order_of_the_leaves_is_kept(fused, answer):
    found = probabilities(sorted(fused), answer)
    assert found == sorted(found)
    for (one, other), (low, high) in zip(pairwise(sorted(fused)), pairwise(found), strict=True):
        assert other - one < 1e-9 or low < high


@examples(200)
@given(fused_scores, st.floats(0.01, 1))
def test_odds_of_two_leaves_depend_on_the_difference_of_their_scores_alone(fused, answer):
    found = probabilities([*fused, 1.0, 0.7], answer)
    assert log(found[-2] / found[-1]) == pytest.approx(D * 0.3)
    assert log(found[0] / found[-1]) == pytest.approx(D * (fused[0] - 0.7), abs=1e-9)


@examples(200)
@given(fused_scores, scores)
def test_a_leaf_more_takes_from_the_others(fused, another):
    before, after = total_weight(fused), total_weight([*fused, another])
    assert all(probability(each, after, 0.5) < probability(each, before, 0.5) for each in fused)


def test_the_order_in_which_leaves_come_changes_no_digit():
    fused = [0.5, 0.6, 0.9, 0.5]  # whose weights, added one by one, round differently in different orders
    assert len({total_weight(each) for each in permutations(fused)}) == 1


@examples(100)
@given(fused_scores, st.data())
def test_no_order_changes_a_digit(fused, data):
    assert total_weight(data.draw(st.permutations(fused))) == total_weight(fused)


def test_a_summary_that_scores_far_more_than_the_leaves_is_certain_and_no_error():
    total = total_weight([0.5, 0.5])  # leaves alone
    assert probability(1e300, total, 1.0) == probability(100.0, total, 1.0) == 1.0


# Scores of any kind


@examples(200)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(0.01, 100), st.floats(-100, 100))
def test_relevances_are_shares_whatever_the_unit_of_the_scores_is(values, factor, shift):
    found = relevances(values)
    assert sum(found) == pytest.approx(1)
    assert [each for _, each in sorted(zip(values, found, strict=True))] == sorted(found)
    if max(values) - min(values) > 1:
        assert relevances([factor * each + shift for each in values]) == pytest.approx(found, rel=1e-3, abs=1e-9)
    assert relevances([0.5] * len(values)) == [pytest.approx(1 / len(values))] * len(values)
