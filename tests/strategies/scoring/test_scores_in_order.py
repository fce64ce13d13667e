"""Scores for results in a given order."""

from __future__ import annotations

from math import inf, nan

import pytest

from leafspan.strategies.scoring import scores_in_order


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
