"""From fused scores to probabilities: the formula by hand, and laws for the probabilities of any question."""

from __future__ import annotations

from itertools import pairwise, permutations
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies.scoring import absence_weight, answer_probability, probability, relevances, total_weight
from tests.profiles import examples

# Fused scores as Hybrid has them: shares of the best of each search, with bonuses of neighbours.
scores = st.floats(-0.5, 2.5)
fused_scores = st.lists(scores, min_size=1, max_size=20)
shares = st.floats(0, 1)
sizes = st.integers(1, 10**8)

# The fitted numbers. After fitting them again (benchmarks/answerable.py --fit), change them here, too.
A, B, C, D = 0.9, 4.95, 0.54, 9.0


def probabilities(fused, absence):
    total = total_weight(fused, absence)
    return [probability(score, total) for score in fused]


def answer(fused, share, leaves):
    absence = absence_weight(share, leaves)
    return answer_probability(absence, total_weight(fused, absence))


# By hand


def test_the_weights_match_the_formula():
    fused, absence = [0.9, 0.5], absence_weight(0.3, 1_000)
    assert absence == pytest.approx(1_000**C / (exp(A) * (0.3 + 0.02) ** B), rel=1e-12)
    total = exp(D * 0.9) + exp(D * 0.5) + absence
    assert total_weight(fused, absence) == pytest.approx(total, rel=1e-12)
    assert probabilities(fused, absence) == [pytest.approx(exp(D * 0.9) / total), pytest.approx(exp(D * 0.5) / total)]
    assert answer_probability(absence, total) == pytest.approx((exp(D * 0.9) + exp(D * 0.5)) / total)


def test_the_larger_the_index_is_the_more_of_the_words_must_be_there():
    # The share of the question's words from which on a leaf that is best everywhere is rather an answer than none.
    for leaves, share in {12: 0.16, 150: 0.22, 1_000: 0.28, 20_000: 0.40, 1_000_000: 0.61}.items():
        assert answer([1.0], share - 0.03, leaves) < 0.5 < answer([1.0], share + 0.03, leaves)


def test_where_no_leaf_was_looked_at_there_is_no_answer():
    assert answer([], 0.3, 10) == 0


# Laws


@examples(200)
@given(fused_scores, shares, sizes)
def test_probabilities_are_in_their_range_and_sum_to_the_probability_of_an_answer(fused, share, leaves):
    found = probabilities(fused, absence_weight(share, leaves))
    assert all(0 < each < 1 for each in found)
    assert sum(found) == pytest.approx(answer(fused, share, leaves), abs=1e-9)


@examples(200)
@given(fused_scores, shares, sizes)
def test_the_order_of_the_leaves_is_kept(fused, share, leaves):
    found = probabilities(sorted(fused), absence_weight(share, leaves))
    assert found == sorted(found)
    for (one, other), (low, high) in zip(pairwise(sorted(fused)), pairwise(found), strict=True):
        assert other - one < 1e-9 or low < high


@examples(200)
@given(fused_scores, shares, sizes)
def test_odds_of_two_leaves_depend_on_the_difference_of_their_scores_alone(fused, share, leaves):
    found = probabilities([*fused, 1.0, 0.7], absence_weight(share, leaves))
    assert log(found[-2] / found[-1]) == pytest.approx(D * 0.3)
    assert log(found[0] / found[-1]) == pytest.approx(D * (fused[0] - 0.7), abs=1e-9)


@examples(200)
@given(fused_scores, scores, shares, sizes)
def test_a_leaf_more_takes_from_the_others_and_adds_to_the_answer(fused, another, share, leaves):
    absence = absence_weight(share, leaves)
    before, after = total_weight(fused, absence), total_weight([*fused, another], absence)
    assert all(probability(each, after) <= probability(each, before) for each in fused)
    assert answer_probability(absence, after) >= answer_probability(absence, before)


@examples(200)
@given(fused_scores, shares, shares, sizes, sizes)
def test_an_answer_is_likelier_the_more_words_are_there_and_the_fewer_leaves(fused, one, other, few, many):
    (low, high), (few, many) = sorted([one, other]), sorted([few, many])
    assert answer(fused, low, many) <= answer(fused, high, many) <= answer(fused, high, few)


@examples(100)
@given(scores, st.integers(1, 30), shares, sizes)
def test_equal_leaves_have_equal_parts(score, number, share, leaves):
    found = probabilities([score] * number, absence_weight(share, leaves))
    assert found == [pytest.approx(answer([score] * number, share, leaves) / number, rel=1e-6, abs=1e-12)] * number


def test_the_order_in_which_leaves_come_changes_no_digit():
    fused = [0.5, 0.6, 0.9, 0.5]  # whose weights, added one by one, round differently in different orders
    assert len({total_weight(each, 0.5) for each in permutations(fused)}) == 1


@examples(100)
@given(fused_scores, st.floats(0, 1e9), st.data())
def test_no_order_changes_a_digit(fused, absence, data):
    assert total_weight(data.draw(st.permutations(fused)), absence) == total_weight(fused, absence)


def test_a_summary_that_scores_far_more_than_the_leaves_is_certain_and_no_error():
    total = total_weight([0.5, 0.5], 0.1)  # leaves alone
    assert probability(1e300, total) == probability(100.0, total) == 1.0


# Scores of any kind


@examples(200)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(0.01, 100), st.floats(-100, 100))
def test_relevances_are_shares_in_any_unit_of_the_scores(values, factor, shift):
    found = relevances(values)
    assert sum(found) == pytest.approx(1)
    assert [each for _, each in sorted(zip(values, found, strict=True))] == sorted(found)
    if max(values) - min(values) > 1:
        assert relevances([factor * each + shift for each in values]) == pytest.approx(found, rel=1e-3, abs=1e-9)
    assert relevances([0.5] * len(values)) == [pytest.approx(1 / len(values))] * len(values)
