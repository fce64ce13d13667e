"""A summary's share beside a list of leaves: the same as for a leaf with its score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies._fuse import FUSIONS, shares_beside, shares_of

LIST = [("a", 5.0), ("b", 3.0), ("c", 1.0)]


def beside(others, fusion, ranking=LIST):
    return dict(shares_beside(ranking, shares_of(ranking, 0.7, fusion), others, 0.7, fusion))


def test_relative_scores_go_on_beyond_the_list_but_not_below_zero():
    assert beside([("x", 4.0), ("y", 7.0), ("z", 0.0)], "relative_score") == {
        "x": pytest.approx(0.7 * 3 / 4),
        "y": pytest.approx(0.7 * 6 / 4),
        "z": 0.0,
    }


def test_another_result_ranks_behind_all_with_a_higher_score():
    shares = beside([("x", 4.0), ("y", 7.0), ("z", 3.0)], "rrf")
    assert shares == {"x": 0.7 / 62, "y": 0.7 / 61, "z": 0.7 / 62}


def test_beside_equal_scores_a_score_as_high_gets_as_much_and_a_lower_one_nothing():
    assert beside([("x", 2.0), ("y", 1.9)], "relative_score", [("a", 2.0), ("b", 2.0)]) == {"x": 0.7, "y": 0.0}


def test_beside_an_empty_list_other_results_are_a_list_themselves():
    assert beside([("x", 4.0), ("y", 2.0)], "relative_score", []) == {"x": 0.7, "y": 0.0}


scores = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=8).map(lambda each: sorted(each, reverse=True))


@given(scores, st.sampled_from(FUSIONS))
def test_a_result_with_the_score_of_a_member_gets_what_the_member_gets(ranked, fusion):
    ranking = [(f"m{n}", score) for n, score in enumerate(ranked)]
    given_to = dict(shares_of(ranking, 0.7, fusion))
    others = [(f"x{n}", score) for n, score in enumerate(ranked)]
    for (other, share), (member, score) in zip(
        shares_beside(ranking, list(given_to.items()), others, 0.7, fusion), ranking, strict=True
    ):
        first = next(name for name, its in ranking if its == score)
        expected = given_to[first] if fusion == "rrf" else given_to[member]
        assert share == pytest.approx(max(0.0, expected) if fusion != "maximum" else expected), other
