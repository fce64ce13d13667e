from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies._rerank import Chosen, maximal_marginal_relevance
from tests.profiles import examples

RIGHT, UP, DIAGONAL = [1, 0], [0, 1], [1, 1]
COSINE = 0.5**0.5  # of the diagonal with either


def test_each_result_is_the_most_relevant_that_is_unlike_those_before_it():
    chosen = maximal_marginal_relevance([0.9, 0.8, 0.5], [RIGHT, RIGHT, UP], diversity=0.5)
    assert chosen == [
        Chosen(0, 0.5 * 0.9, 0),
        Chosen(2, 0.5 * 0.5 - 0.5 * 0, 0),
        Chosen(1, 0.5 * 0.8 - 0.5 * 1, 1),
    ]


def test_what_counts_is_the_most_similar_one_and_not_the_last():
    chosen = maximal_marginal_relevance([1, 0.9, 0.6, 0.5], [RIGHT, UP, RIGHT, DIAGONAL], diversity=0.5)
    assert [each.place for each in chosen] == [0, 1, 3, 2]
    assert chosen[2].similarity == pytest.approx(COSINE)
    assert chosen[3].similarity == pytest.approx(1)  # to the first one; to the last but one it is COSINE


def test_the_length_of_a_vector_does_not_count_and_zeros_are_like_nothing():
    chosen = maximal_marginal_relevance([0.9, 0.8, 0.7], [[3, 0], [0.1, 0], [0, 0]], diversity=0.5)
    assert [(each.place, each.similarity) for each in chosen] == [(0, 0), (2, 0), (1, 1)]


def test_ties_go_to_what_came_first():
    chosen = maximal_marginal_relevance([0.5] * 4, [RIGHT, UP, UP, RIGHT], diversity=0.5)
    assert [each.place for each in chosen] == [0, 1, 2, 3]


def test_a_count_stops_early():
    assert maximal_marginal_relevance([0.9, 0.8], [RIGHT, UP], diversity=0.5, count=1) == [Chosen(0, 0.45, 0)]
    assert maximal_marginal_relevance([0.9, 0.8], [RIGHT, UP], diversity=0.5, count=0) == []


def test_of_nothing_comes_nothing():
    assert maximal_marginal_relevance([], [], diversity=0.5) == []


def test_no_score_is_higher_than_the_one_before_even_where_cosines_are_negative():
    chosen = maximal_marginal_relevance([0.2, 0.1], [RIGHT, [-1, 0]], diversity=0.9)
    assert [each.score for each in chosen] == [pytest.approx(0.1 * 0.2)] * 2  # the second has 0.1 * 0.1 + 0.9


vectors = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=12)


@given(vectors, st.data(), st.floats(0, 0.99))
@examples(200)
def test_nothing_is_lost_and_scores_fall(rows, data, diversity):
    relevance = data.draw(st.lists(st.floats(-1, 1), min_size=len(rows), max_size=len(rows)))
    chosen = maximal_marginal_relevance(relevance, rows, diversity=diversity)
    assert sorted(each.place for each in chosen) == list(range(len(rows)))
    scores = [each.score for each in chosen]
    assert scores == sorted(scores, reverse=True)


@given(vectors, st.data())
@examples(100)
def test_without_diversity_the_order_matches_the_relevance(rows, data):
    relevance = data.draw(st.lists(st.floats(-1, 1), min_size=len(rows), max_size=len(rows)))
    chosen = maximal_marginal_relevance(relevance, rows, diversity=0)
    assert [each.place for each in chosen] == sorted(range(len(rows)), key=lambda place: -relevance[place])
