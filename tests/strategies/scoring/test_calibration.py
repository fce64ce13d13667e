"""The weight of the case that there is no answer, and the relevance of scores of any kind."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies.scoring import absence_weight, relevances
from tests.profiles import examples

shares = st.floats(0, 1)
sizes = st.integers(1, 10**8)

# The fitted numbers. After fitting them again (benchmarks/answerable.py --fit), change them here, too.
A, B, C, D = 0.9, 4.95, 0.54, 9.0


def test_the_weight_of_no_answer_matches_the_formula():
    assert absence_weight(0.3, 1_000) == pytest.approx(1_000**C / (exp(A) * (0.3 + 0.02) ** B), rel=1e-12)
    assert absence_weight(-1.0, 0) == absence_weight(0.0, 1) == pytest.approx(1 / (exp(A) * 0.02**B), rel=1e-12)
    assert absence_weight(2.0, 1) == absence_weight(1.0, 1)


@examples(200)
@given(shares, shares, sizes, sizes)
def test_no_answer_weighs_less_the_more_words_are_there_and_the_fewer_leaves(one, other, few, many):
    (low, high), (few, many) = sorted([one, other]), sorted([few, many])
    assert absence_weight(low, many) >= absence_weight(high, many) >= absence_weight(high, few) > 0


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
