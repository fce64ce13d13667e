"""From fused scores to probabilities: the formula by hand, and what every probability of a question must fulfil."""

from __future__ import annotations

from itertools import pairwise, permutations
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies.scoring import answer_probability, probability, total_weight
from tests.profiles import examples

# Fused scores as Hybrid has them: shares of the best of each search, with bonuses of neighbours.
scores = st.floats(-0.5, 2.5)
fused_scores = st.lists(scores, min_size=1, max_size=20)
shares = st.floats(0, 1)

# The fitted numbers. Whoever fits them anew (benchmarks/calibration.py --fit) changes them here, too.
A, B, C, D = 9.0, 17.1, 24.8, 8.1


def probabilities(fused, share):
    total = total_weight(fused, share)
    return [probability(score, total) for score in fused]


# By hand


def test_the_weights_of_leaves_and_of_absence_are_those_of_the_formula():
    fused = [0.9, 0.5]
    absence = exp(B - C * 0.75) + exp(D)
    assert total_weight(fused, 0.75) == pytest.approx(exp(A * 0.9) + exp(A * 0.5) + absence, rel=1e-12)
    assert probabilities(fused, 0.75) == [
        pytest.approx(exp(A * 0.9) / (exp(A * 0.9) + exp(A * 0.5) + absence)),
        pytest.approx(exp(A * 0.5) / (exp(A * 0.9) + exp(A * 0.5) + absence)),
    ]
    assert answer_probability(0.75, total_weight(fused, 0.75)) == pytest.approx(
        (exp(A * 0.9) + exp(A * 0.5)) / (exp(A * 0.9) + exp(A * 0.5) + absence)
    )


def test_a_lone_leaf_that_is_best_everywhere_and_has_every_word_is_an_answer_at_odds_of_e_to_the_a_less_d():
    #                       exp(9) against exp(17.1 - 24.8), next to nothing, and exp(8.1): odds of exp(0.9), five to two
    [alone] = probabilities([1.0], 1.0)
    assert alone == pytest.approx(1 / (1 + exp(-0.9)), abs=1e-6) == pytest.approx(0.711, abs=1e-3)


def test_where_half_of_the_rare_words_are_missing_the_same_leaf_is_rather_none():
    #                       exp(9) against exp(17.1 - 12.4) and exp(8.1); with none of the words against exp(17.1)
    assert probabilities([1.0], 0.5) == [pytest.approx(exp(9) / (exp(9) + exp(4.7) + exp(8.1)))]
    assert probabilities([1.0], 0.0) == [pytest.approx(exp(9) / (exp(9) + exp(17.1) + exp(8.1)))]


def test_where_no_leaf_was_looked_at_there_is_no_answer():
    assert answer_probability(0.3, total_weight([], 0.3)) == 0


# Laws


@examples(200)
@given(fused_scores, shares)
def test_probabilities_are_in_their_range_and_sum_to_that_of_an_answer(fused, share):
    total = total_weight(fused, share)
    found = probabilities(fused, share)
    assert all(0 < each < 1 for each in found)
    assert 0 <= answer_probability(share, total) <= 1
    assert sum(found) == pytest.approx(answer_probability(share, total), abs=1e-12)


@examples(200)
@given(fused_scores, shares)
def test_the_order_of_the_leaves_is_kept(fused, share):
    found = probabilities(sorted(fused), share)
    assert found == sorted(found)
    for (one, other), (low, high) in zip(pairwise(sorted(fused)), pairwise(found), strict=True):
        assert other - one < 1e-9 or low < high


@examples(200)
@given(fused_scores, shares)
def test_odds_of_two_leaves_depend_on_the_difference_of_their_scores_alone(fused, share):
    found = probabilities([*fused, 1.0, 0.7], share)
    assert log(found[-2] / found[-1]) == pytest.approx(A * 0.3)
    assert log(found[0] / found[-1]) == pytest.approx(A * (fused[0] - 0.7), abs=1e-9)


@examples(200)
@given(fused_scores, scores, shares)
def test_a_leaf_more_takes_from_the_others_and_adds_to_the_answer(fused, another, share):
    before, after = total_weight(fused, share), total_weight([*fused, another], share)
    assert all(probability(each, after) < probability(each, before) for each in fused)
    assert answer_probability(share, after) >= answer_probability(share, before)


@examples(200)
@given(fused_scores, shares, shares)
def test_the_more_of_the_question_the_best_leaf_has_the_likelier_is_each_leaf(fused, one, other):
    low, high = sorted([one, other])
    assert all(a <= b for a, b in zip(probabilities(fused, low), probabilities(fused, high), strict=True))
    assert answer_probability(low, total_weight(fused, low)) <= answer_probability(high, total_weight(fused, high))


@examples(100)
@given(scores, st.integers(1, 30), shares)
def test_equal_leaves_have_equal_parts(score, number, share):
    found = probabilities([score] * number, share)
    answer = answer_probability(share, total_weight([score] * number, share))
    assert found == [pytest.approx(answer / number, rel=1e-6)] * number


def test_the_order_in_which_leaves_come_changes_no_digit():
    fused = [0.5, 0.6, 0.9, 0.5]  # whose weights, added one by one, round differently in different orders
    assert len({total_weight(each, 0.5) for each in permutations(fused)}) == 1


@examples(100)
@given(fused_scores, shares, st.data())
def test_no_order_changes_a_digit(fused, share, data):
    assert total_weight(data.draw(st.permutations(fused)), share) == total_weight(fused, share)


def test_a_summary_that_scores_far_more_than_the_leaves_is_certain_and_no_error():
    total = total_weight([0.5, 0.5], 1.0)  # leaves alone
    assert probability(1e300, total) == probability(100.0, total) == 1.0
