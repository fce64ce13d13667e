"""Bonuses for neighbours, and scores for results in a given order."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.strategies._fused_leaves import FusedLeaves, LeafNumbers
from leafspan.strategies.scoring import scores_in_order
from leafspan.values import LeafId
from tests.profiles import examples


def leaf(ordinal: int, document_id: str = "d", version: str = "00000000") -> LeafId:
    return LeafId(document_id, version, ordinal)


def neighbour_bonuses(scores: dict[LeafId, float], share: float) -> dict[LeafId, float]:
    """The bonus of each leaf and of each neighbour."""
    known_as = LeafNumbers.among(scores)
    found = FusedLeaves.of(known_as, known_as.of(scores), list(scores.values()), share)
    return dict(zip(known_as.leaves(found.numbers.tolist()), found.bonuses.tolist(), strict=True))


def test_a_leaf_has_a_share_of_its_better_neighbours_score():
    bonuses = neighbour_bonuses({leaf(3): 0.8, leaf(4): 0.5, leaf(5): 0.9}, 0.5)
    assert bonuses == {
        leaf(2): 0.5 * 0.8,
        leaf(3): 0.5 * 0.5,  # its neighbour 4
        leaf(4): 0.5 * 0.9,  # the better one of 3 and 5
        leaf(5): 0.5 * 0.5,
        leaf(6): 0.5 * 0.9,
    }


def test_there_is_nothing_before_the_first_leaf():
    assert neighbour_bonuses({leaf(0): 1.0}, 0.25) == {leaf(0): 0.0, leaf(1): 0.25}


def test_neighbours_are_of_the_same_version_of_the_same_document():
    bonuses = neighbour_bonuses({leaf(1): 1.0, leaf(2, "e"): 0.5, leaf(2, version="11111111"): 0.5}, 0.1)
    assert bonuses[leaf(2)] == 0.1
    assert bonuses[leaf(2, "e")] == bonuses[leaf(2, version="11111111")] == 0.0


def test_without_a_share_and_for_scores_below_0_there_is_no_bonus():
    assert neighbour_bonuses({leaf(1): 1.0, leaf(2): 0.5}, 0) == {leaf(1): 0.0, leaf(2): 0.0}
    assert neighbour_bonuses({leaf(1): -1.0, leaf(2): 0.0}, 0.5) == {leaf(1): 0.0, leaf(2): 0.0}
    assert neighbour_bonuses({}, 0.5) == {}


@examples(200)
@given(st.dictionaries(st.integers(0, 9), st.floats(0.01, 1)), st.floats(0.01, 2))
def test_every_bonus_matches_the_better_neighbour(scores, share):
    bonuses = neighbour_bonuses({leaf(n): score for n, score in scores.items()}, share)
    around = {n + step for n in scores for step in (-1, 0, 1) if n + step >= 0}
    assert bonuses.keys() == {leaf(n) for n in around}
    for n in around:
        assert bonuses[leaf(n)] == share * max(scores.get(n - 1, 0.0), scores.get(n + 1, 0.0))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.9, 0.5, 0.5, -1.0], [0.9, 0.5, 0.5, -1.0]),
        ([3, 2], [3.0, 2.0]),
        ([0.5, 0.9], [1, 1 / 2]),  # rises
        ([0.9, None, 0.1], [1, 1 / 2, 1 / 3]),
        ([0.9, nan], [1, 1 / 2]),
        ([inf, 0.5], [1, 1 / 2]),
        ([None], [1]),
        ([0.3], [0.3]),
        ([], []),
    ],
)
def test_results_keep_their_scores_where_each_has_one_and_none_rises(scores, expected):
    assert scores_in_order(scores) == expected
