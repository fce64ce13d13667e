"""The probability that there is an answer, and the relevance of scores of any kind."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies.scoring import answer_probability, relevances
from tests.profiles import examples

shares = st.floats(0, 1)
sizes = st.integers(1, 10**8)

# The fitted numbers. After fitting them again (benchmarks/answerable.py --fit), change them here, too.
A, B, C, D = 20.0, 6.2, 1.4, 9.0


def test_the_probability_of_an_answer_matches_the_formula():
    odds = exp(A) * (0.3 + 0.01) ** B / (1_000 / 1.1) ** C
    assert answer_probability(0.3, 1_000) == pytest.approx(odds / (1 + odds), rel=1e-12)
    assert answer_probability(-1.0, 0) == answer_probability(0.0, 1)
    assert answer_probability(2.0, 1) == answer_probability(1.0, 1)


@examples(200)
@given(shares, shares, sizes, sizes)
def test_an_answer_is_more_probable_the_more_words_are_there_and_the_fewer_leaves(one, other, few, many):
    (low, high), (few, many) = sorted([one, other]), sorted([few, many])
    assert 0 < answer_probability(low, many) <= answer_probability(high, many) <= answer_probability(high, few) < 1


# Scores of any kind


def test_the_relevances_of_scores_match_the_formula():
    weights = [1.0, exp(D * 0.5), exp(D)]
    assert relevances([3.0, 5.0, 7.0]) == pytest.approx([each / sum(weights) for each in weights])


@examples(200)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(0.01, 100), st.floats(-100, 100))
def test_relevances_are_shares_in_any_unit_of_the_scores(values, factor, shift):
    found = relevances(values)
    assert sum(found) == pytest.approx(1)
    assert [each for _, each in sorted(zip(values, found, strict=True))] == sorted(found)
    if max(values) - min(values) > 1:
        assert relevances([factor * each + shift for each in values]) == pytest.approx(found, rel=1e-3, abs=1e-9)
    assert relevances([0.5] * len(values)) == [pytest.approx(1 / len(values))] * len(values)
