from __future__ import annotations

from math import inf, nan, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument, strategies
from leafspan.strategies._fuse import FUSIONS as OURS
from leafspan.strategies._fuse import shares_of
from leafspan.strategies.scoring import min_max, three_sigma
from tests.profiles import examples
from tests.strategies.scoring import fusions
from tests.strategies.scoring.fusions import (
    distribution_based_fusion,
    maximum_fusion,
    reciprocal_rank_fusion,
    relative_score_fusion,
    sum_fusion,
)

FUSIONS = [reciprocal_rank_fusion, relative_score_fusion, distribution_based_fusion, sum_fusion, maximum_fusion]
NORMALIZED = FUSIONS[:-1]
BY_SCORE = FUSIONS[1:]

ONE = [("a", 9.0), ("b", 8.0), ("c", 5.0)]
OTHER = [("c", 0.5), ("d", 0.25)]


# Reciprocal rank fusion


def test_ranks_count_from_1_and_weights_sum_to_1():
    assert reciprocal_rank_fusion([ONE, OTHER]) == [
        ("c", 0.5 / (60 + 3) + 0.5 / (60 + 1)),
        ("a", 0.5 / (60 + 1)),
        ("b", 0.5 / (60 + 2)),
        ("d", 0.5 / (60 + 2)),
    ]


def test_weights_are_normalised():
    assert reciprocal_rank_fusion([ONE, OTHER], weights=[3, 1])[:2] == [
        ("c", 0.75 / 63 + 0.25 / 61),
        ("a", 0.75 / 61),
    ]


def test_weights_may_be_taken_as_they_are_and_are_1_where_there_are_none():
    assert dict(reciprocal_rank_fusion([ONE, OTHER], weights=[3, 2], normalize_weights=False))["c"] == 3 / 63 + 2 / 61
    assert dict(reciprocal_rank_fusion([ONE, OTHER], normalize_weights=False))["c"] == 1 / 63 + 1 / 61


def test_a_smaller_constant_favours_the_first_places():
    rankings = [[("a", None), ("b", None)], [("x", None), ("y", None), ("b", None)]]
    assert reciprocal_rank_fusion(rankings, rank_constant=60)[0] == ("b", 0.5 / 62 + 0.5 / 63)
    assert reciprocal_rank_fusion(rankings, rank_constant=0)[0] == ("a", 0.5 / 1)


def test_as_shares_the_best_there_can_be_is_1():
    assert reciprocal_rank_fusion([OTHER, OTHER, OTHER], weights=[5, 2, 1], as_share=True)[0] == ("c", 1.0)
    assert dict(reciprocal_rank_fusion([ONE, OTHER], as_share=True))["a"] == pytest.approx(0.5)


def test_only_ranks_count_and_not_scores():
    anything = [("a", None), ("b", nan), ("c", "no number")]
    assert reciprocal_rank_fusion([anything, OTHER]) == reciprocal_rank_fusion([ONE, OTHER])


def test_a_key_counts_once_a_ranking_and_those_after_it_move_up():
    assert reciprocal_rank_fusion([[("a", 9), ("b", 8), ("a", 7), ("c", 6)]], rank_constant=0) == [
        ("a", 1 / 1),
        ("b", 1 / 2),
        ("c", 1 / 3),
    ]


# Fusion by scores


def test_relative_scores_lie_between_the_lowest_and_the_highest_of_their_ranking():
    assert relative_score_fusion([ONE, OTHER], weights=[1, 3]) == [
        ("c", 0.25 * (5 - 5) / (9 - 5) + 0.75 * (0.5 - 0.25) / (0.5 - 0.25)),
        ("a", 0.25 * (9 - 5) / (9 - 5)),
        ("b", 0.25 * (8 - 5) / (9 - 5)),
        ("d", 0.75 * (0.25 - 0.25) / (0.5 - 0.25)),
    ]


def test_distribution_based_scores_lie_between_three_deviations_below_and_above_the_mean():
    # Mean 4, deviation 2: from -2 to 10. Mean 10, deviation sqrt((9 + 9 + 0) / 3).
    rankings = [[("a", 6.0), ("b", 2.0)], [("b", 13.0), ("c", 10.0), ("a", 7.0)]]
    deviation = sqrt(6)
    assert distribution_based_fusion(rankings) == [
        ("b", pytest.approx(0.5 * (2 + 2) / 12 + 0.5 * (0.5 + 3 / (6 * deviation)))),
        ("a", pytest.approx(0.5 * (6 + 2) / 12 + 0.5 * (0.5 - 3 / (6 * deviation)))),
        ("c", pytest.approx(0.5 * 0.5)),
    ]


def test_a_result_that_stands_out_of_a_long_list_has_more_than_1_by_distribution():
    ranking = [("first", 1.0), *((str(number), 0.0) for number in range(99))]
    # The mean is 1 / 100 and the deviation sqrt(99) / 100, so the first one is sqrt(99) deviations above the mean.
    assert dict(distribution_based_fusion([ranking]))["first"] == pytest.approx(0.5 + 99**0.5 / 6)


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=50))
def test_no_result_stands_out_further_than_one_of_a_list_whose_others_are_equal(scores):
    furthest = (len(scores) - 1) ** 0.5 / 6
    for score in three_sigma(scores):
        assert 0.5 - furthest - 1e-6 <= score <= 0.5 + furthest + 1e-6


def test_one_outlier_presses_the_rest_together_in_relative_scores_and_less_so_by_distribution():
    ranking = [("outlier", 100.0), *((f"{i}", float(i)) for i in reversed(range(10)))]
    assert dict(relative_score_fusion([ranking]))["9"] == 9 / 100
    assert dict(distribution_based_fusion([ranking]))["9"] > 0.4


def test_sums_are_of_the_scores_as_they_are():
    assert sum_fusion([ONE, OTHER], normalize_weights=False) == [("a", 9), ("b", 8), ("c", 5 + 0.5), ("d", 0.25)]
    assert sum_fusion([ONE, OTHER], weights=[1, 3]) == [
        ("a", 0.25 * 9),
        ("b", 0.25 * 8),
        ("c", 0.25 * 5 + 0.75 * 0.5),
        ("d", 0.75 * 0.25),
    ]


def test_the_maximum_is_the_best_of_the_scores_as_they_are():
    assert maximum_fusion([ONE, OTHER]) == [("a", 9), ("b", 8), ("c", 5), ("d", 0.25)]
    assert maximum_fusion([ONE, OTHER], weights=[1, 16]) == [("a", 9), ("b", 8), ("c", 16 * 0.5), ("d", 16 * 0.25)]


@pytest.mark.parametrize("fuse", BY_SCORE)
def test_a_key_that_comes_twice_in_a_ranking_counts_at_its_first_place(fuse):
    assert fuse([[*ONE, ("a", 1.0)], OTHER]) == fuse([ONE, OTHER])


# Lists with little in them


@pytest.mark.parametrize("fuse", FUSIONS)
@pytest.mark.parametrize("rankings", [[], [[]], [[], []]])
def test_nothing_gives_nothing(fuse, rankings):
    assert fuse(rankings) == []


def test_an_empty_ranking_keeps_its_share():
    assert reciprocal_rank_fusion([ONE[:1], []]) == [("a", 0.5 / 61)]
    assert relative_score_fusion([ONE[:1], []], weights=[3, 1]) == [("a", 0.75)]


@pytest.mark.parametrize("score", [0.3, 0.0, -2.0, None])
def test_equal_scores_say_that_something_was_found(score):
    rankings = [ONE, [("x", score), ("y", score), ("z", score)]]
    assert dict(relative_score_fusion(rankings))["x"] == 0.5 * 1.0
    # By distribution they are neither above nor below their mean.
    assert dict(distribution_based_fusion(rankings))["x"] == 0.5 * 0.5


@pytest.mark.parametrize(("scale", "expected"), [(min_max, 1.0), (three_sigma, 0.5)])
@pytest.mark.parametrize("score", [0.1, 0.0, -0.1])
def test_equal_scores_become_the_highest_or_the_mean(scale, expected, score):
    assert [scale([score] * count) for count in (0, 1, 3)] == [[], [expected], [expected] * 3]


@pytest.mark.parametrize("scale", [min_max, three_sigma])
def test_scores_too_close_to_tell_apart_count_as_equal(scale):
    smallest = 5e-324
    high, low = scale([smallest, 0.0])
    assert 0 <= low <= high <= 1


def test_no_score_counts_as_the_lowest_of_its_ranking_or_as_0_where_none_has_one():
    assert fusions.min_max([("a", -1.0), ("b", None), ("c", -3.0)]) == [("a", 1.0), ("b", 0.0), ("c", 0.0)]
    assert sum_fusion([[("a", 7.0), ("b", 5.0), ("c", None)]]) == [("a", 7.0), ("b", 5.0), ("c", 5.0)]
    assert maximum_fusion([[("a", None)], [("b", 0.5)]]) == [("b", 0.5), ("a", 0.0)]


def test_scores_may_be_negative():
    assert min_max([-1.0, -2.0, -5.0]) == [1.0, 3 / 4, 0.0]
    assert maximum_fusion([[("a", -1.0)], [("b", -2.0), ("a", -3.0)]]) == [("a", -1.0), ("b", -2.0)]


# Ties


@pytest.mark.parametrize("fuse", FUSIONS)
def test_ties_keep_the_order_in_which_keys_were_first_seen(fuse):
    rankings = [[("c", 1.0)], [("a", 1.0)], [("b", 1.0)]]
    assert [key for key, _ in fuse(rankings)] == ["c", "a", "b"]
    assert [key for key, _ in fuse(rankings[::-1])] == ["b", "a", "c"]


def test_what_ties_on_paper_ties_in_any_order_of_adding():
    third = 1 / 3
    assert third / 61 + third / 63 + third / 62 < third / 62 + third / 61 + third / 63
    # Each of the three keys comes first, second and third once.
    fused = reciprocal_rank_fusion([[(key, None) for key in keys] for keys in ("abc", "bca", "cab")])
    assert [key for key, _ in fused] == ["a", "b", "c"]
    assert len({score for _, score in fused}) == 1


# Laws

KEYS = st.sampled_from("abcdefgh")
SCORES = st.integers(-1000, 1000)


@st.composite
def rankings_with_weights(draw, scores=SCORES):
    rankings = draw(
        st.lists(st.dictionaries(KEYS, scores, max_size=8).map(lambda found: best_first(found.items())), max_size=4)
    )
    weights = draw(st.lists(st.integers(1, 9), min_size=len(rankings), max_size=len(rankings)))
    return rankings, weights


def best_first(pairs):
    return sorted(pairs, key=lambda pair: -pair[1])


@examples(100)
@given(rankings_with_weights(), st.sampled_from(FUSIONS))
def test_nothing_is_lost_or_added_and_the_best_come_first(drawn, fuse):
    rankings, weights = drawn
    fused = fuse(rankings, weights=weights)
    seen = list(dict.fromkeys(key for ranking in rankings for key, _ in ranking))

    assert sorted(key for key, _ in fused) == sorted(seen)
    assert fused == sorted(fused, key=lambda pair: (-pair[1], seen.index(pair[0])))


@examples(100)
@given(rankings_with_weights(), st.sampled_from(FUSIONS), st.randoms())
def test_the_order_of_the_rankings_changes_no_score(drawn, fuse, random):
    weighted = list(zip(*drawn, strict=True))
    shuffled = random.sample(weighted, len(weighted))

    def fused(weighted):
        return dict(fuse([ranking for ranking, _ in weighted], weights=[weight for _, weight in weighted]))

    assert fused(shuffled) == fused(weighted)


@examples(100)
@given(rankings_with_weights(), st.sampled_from(NORMALIZED), st.integers(-20, 20))
def test_the_scale_of_normalised_weights_changes_nothing(drawn, fuse, power):
    rankings, weights = drawn
    # By a power of two, floats scale without rounding.
    assert fuse(rankings, weights=[weight * 2.0**power for weight in weights]) == fuse(rankings, weights=weights)


@examples(100)
@given(rankings_with_weights(), st.data(), st.integers(1, 50), SCORES)
def test_relative_scores_do_not_depend_on_the_scale_of_a_ranking(drawn, data, factor, offset):
    rankings, weights = drawn
    if not rankings:
        return
    chosen = data.draw(st.sampled_from(range(len(rankings))))
    mapped = list(rankings)
    mapped[chosen] = [(key, factor * score + offset) for key, score in rankings[chosen]]

    assert relative_score_fusion(mapped, weights=weights) == relative_score_fusion(rankings, weights=weights)
    assert dict(distribution_based_fusion(mapped, weights=weights)) == pytest.approx(
        dict(distribution_based_fusion(rankings, weights=weights)), abs=1e-9
    )


@examples(100)
@given(rankings_with_weights())
def test_relative_scores_are_shares(drawn):
    rankings, weights = drawn
    assert all(0 <= score <= 1 + 1e-15 for _, score in relative_score_fusion(rankings, weights=weights))
    shares = reciprocal_rank_fusion(rankings, weights=weights, as_share=True)
    assert all(0 < score <= 1 + 1e-15 for _, score in shares)


@examples(100)
@given(rankings_with_weights(st.floats(-1e6, 1e6)), st.sampled_from(FUSIONS))
def test_one_ranking_alone_keeps_its_order(drawn, fuse):
    for ranking in drawn[0]:
        fused = dict(fuse([ranking]))
        scores = [fused[key] for key, _ in ranking]
        assert scores == sorted(scores, reverse=True)


# Errors


@pytest.mark.parametrize("weight", [0.0, -1, nan, inf, True, "1"])
def test_weights_are_positive_numbers(weight):
    with pytest.raises(InvalidArgument, match=f"weights must be a number > 0, got {weight!r}"):
        strategies.Ensemble(retrievers=[strategies.Vector(), strategies.BM25()], weights=[1.0, weight])


@pytest.mark.parametrize("fusion", OURS[1:])
@pytest.mark.parametrize("score", [nan, inf, -inf, "0.5", True, None])
def test_scores_are_finite_numbers(fusion, score):
    with pytest.raises(InvalidArgument, match=f"the score of a result must be a number, got {score!r}"):
        shares_of([0.5, score], 1.0, fusion)


@pytest.mark.parametrize("rank_constant", [-1, nan, inf, "60", None])
def test_the_constant_is_a_number_of_0_or_more(rank_constant):
    with pytest.raises(InvalidArgument, match=f"rank_constant must be a number >= 0, got {rank_constant!r}"):
        strategies.Ensemble(retrievers=[strategies.Vector(), strategies.BM25()], rank_constant=rank_constant)
