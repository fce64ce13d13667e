"""Long texts are cut where leaves end."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from leafspan.lab.serving._pages import parts_of


def test_parts_end_where_leaves_end():
    assert parts_of(100, [30, 60, 90, 100], 70) == [(0, 60), (60, 100)]


def test_only_a_leaf_that_is_longer_than_a_part_is_cut():
    assert parts_of(100, [10, 95, 100], 40) == [(0, 10), (10, 50), (50, 90), (90, 100)]


def test_a_text_whose_leaves_are_not_known_is_cut_anywhere():
    assert parts_of(100, [], 40) == [(0, 40), (40, 80), (80, 100)]


def test_an_empty_text_is_one_part():
    assert parts_of(0, [], 40) == [(0, 0)]


@given(st.lists(st.integers(0, 50)), st.integers(0, 50), st.integers(1, 60))
def test_nothing_is_lost_and_no_part_is_too_long(lengths: list[int], rest: int, most: int):
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    length = sum(lengths) + rest
    parts = parts_of(length, ends, most)
    assert parts[0][0] == 0
    assert parts[-1][1] == length
    assert all(end == start for (_, end), (start, _) in pairwise(parts))
    assert all(end - start <= most for start, end in parts)
    assert all(start < end for start, end in parts) or length == 0
