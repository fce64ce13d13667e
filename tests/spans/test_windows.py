from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument, SentenceWindow
from leafspan.spans import windows_around
from tests.profiles import examples
from tests.trees import hits, spans, tree, trees_with_hits


def test_a_hit_comes_with_its_neighbours():
    assert spans(windows_around(hits(tree(10), {4: 0.9}), before=1, after=2)) == [(3, 6, 0.9)]


def test_a_window_ends_with_its_document():
    leaves = tree(5)
    assert spans(windows_around(hits(leaves, {0: 0.9}), before=2, after=1)) == [(0, 1, 0.9)]
    assert spans(windows_around(hits(leaves, {4: 0.9}), before=1, after=2)) == [(3, 4, 0.9)]


@pytest.mark.parametrize("other", [3, 4, 5], ids=["overlap", "overlap by one", "touch"])
def test_windows_that_meet_are_one_passage_with_the_better_score(other):
    assert spans(windows_around(hits(tree(12), {2: 0.5, other: 0.9}), before=1, after=1)) == [(1, other + 1, 0.9)]


def test_windows_apart_stay_apart_and_are_ordered_by_score():
    assert spans(windows_around(hits(tree(12), {2: 0.5, 6: 0.9}), before=1, after=1)) == [(5, 7, 0.9), (1, 3, 0.5)]


def test_a_window_of_nothing_is_the_hit():
    assert spans(windows_around(hits(tree(5), {2: 0.5}), before=0, after=0)) == [(2, 2, 0.5)]


def test_the_trace_names_the_hits_and_the_window():
    window = windows_around(hits(tree(9), {2: 0.5, 4: 0.9}), before=1, after=1)[0]
    assert window.trace.explain() == [
        "vector found leaf 4 (score 0.900)",
        "vector found leaf 2 (score 0.500)",
        "widened to the neighbours: 1 before and 1 after",
    ]


@examples(300)
@given(trees_with_hits(), st.integers(0, 3), st.integers(0, 3))
def test_windows_cover_exactly_the_neighbourhood_of_the_hits(tree_and_hits, before, after):
    leaves, found = tree_and_hits
    windows = windows_around(found, before=before, after=after)
    wanted = {
        ordinal
        for hit in found
        for ordinal in range(max(0, hit.span.first - before), min(len(leaves), hit.span.first + after + 1))
    }
    covered = [ordinal for item in windows for ordinal in range(item.span.first, item.span.last + 1)]
    assert sorted(covered) == sorted(wanted)
    firsts = sorted((item.span.first, item.span.last) for item in windows)
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(firsts))
    assert windows == sorted(windows, key=lambda item: item.order)


@pytest.mark.parametrize("wrong", [{"before": -1}, {"after": -1}, {"before": 1.5}, {"after": True}])
def test_options_out_of_range_are_refused(wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(InvalidArgument, match=f"{name} must be a whole number >= 0, got {value!r}"):
        SentenceWindow(**wrong)
