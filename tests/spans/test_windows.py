from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument, SentenceWindow
from leafspan.spans import neighbours_of, windows_around
from tests.profiles import examples
from tests.word_trees import hits, spans, tree, trees_with_hits


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
        "2 results that overlap or touch became one: leaves 1 to 5",
    ]
    [apart] = windows_around(hits(tree(9), {2: 0.5}), before=1, after=1)
    assert apart.trace.united == ()


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


@examples(100)
@given(trees_with_hits(), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_a_window_is_no_leaf_and_has_a_length_where_its_leaves_have_one(tree_and_hits, before, after, known):
    leaves, found = tree_and_hits
    for window in windows_around(found, before=before, after=after, words=words_of(leaves) if known else None):
        assert window.leaf is None
        assert window.words == (window.span.size if known or window.span.size == 1 else None)


@examples(100)
@given(
    trees_with_hits(),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from([None, 3]),
    st.sampled_from([None, 4]),
    st.data(),
)
def test_the_order_of_the_hits_does_not_matter(tree_and_hits, before, after, max_words, budget, data):
    leaves, found = tree_and_hits
    options = {"before": before, "after": after, "max_words": max_words, "budget": budget, "words": words_of(leaves)}
    assert windows_around(data.draw(st.permutations(found)), **options) == windows_around(found, **options)


def test_the_neighbours_to_load_match_the_windows_without_the_hits():
    leaves = tree(9)
    ids = [leaf.id for leaf in leaves]
    assert neighbours_of(hits(leaves, {0: 0.9, 4: 0.8}), before=1, after=2) == [ids[1], ids[2], ids[3], ids[5], ids[6]]
    assert neighbours_of(hits(leaves, {8: 0.9, 7: 0.8}), before=2, after=3) == [ids[6], ids[5]]  # each once
    assert neighbours_of(hits(leaves, {3: 0.9}), before=0, after=0) == []


@examples(100)
@given(trees_with_hits(), st.integers(0, 3), st.integers(0, 3))
def test_windows_are_made_of_the_hits_and_their_neighbours(tree_and_hits, before, after):
    _, found = tree_and_hits
    neighbours = neighbours_of(found, before=before, after=after)
    assert len(neighbours) == len(set(neighbours))
    in_windows = [id_ for window in windows_around(found, before=before, after=after) for id_ in window.span.leaf_ids]
    assert sorted(in_windows) == sorted([*neighbours, *(hit.id for hit in found)])


def words_of(leaves) -> dict[str, int]:
    return {leaf.id: leaf.words for leaf in leaves}  # one each


def test_a_window_that_would_be_too_long_is_cut_around_its_hit():
    leaves = tree(12)
    for max_words, place in ((1, (5, 5)), (2, (5, 6)), (3, (4, 6)), (4, (4, 7)), (6, (3, 8))):
        [window] = windows_around(hits(leaves, {5: 0.9}), before=2, after=4, max_words=max_words, words=words_of(leaves))
        assert (window.span.first, window.span.last, window.words) == (*place, max_words)
        assert window.trace.notes == ("the window is cut, since more neighbours do not fit",)


def test_windows_stay_apart_if_they_would_be_too_long_together_and_share_no_leaf():
    leaves = tree(12)
    windows = windows_around(hits(leaves, {4: 0.9, 6: 0.5}), before=2, after=2, max_words=5, words=words_of(leaves))
    assert spans(windows) == [(2, 6, 0.9)]


def test_hits_get_windows_best_first_until_the_budget_is_full():
    leaves = tree(20)
    found = windows_around(
        hits(leaves, {2: 0.9, 8: 0.8, 14: 0.7, 18: 0.6}), before=1, after=1, budget=5, words=words_of(leaves)
    )
    assert spans(found) == [(1, 3, 0.9), (8, 9, 0.8), (14, 14, 0.7), (18, 18, 0.6)]  # 3 + 2 = 5 words, then hits alone


@examples(300)
@given(
    trees_with_hits(), st.integers(0, 3), st.integers(0, 3), st.sampled_from([None, 1, 3, 7]), st.sampled_from([None, 1, 5])
)
def test_limited_windows_lose_no_hit_share_no_leaf_and_hold_no_stranger(tree_and_hits, before, after, max_words, budget):
    leaves, found = tree_and_hits
    limits = {"max_words": max_words, "budget": budget, "words": words_of(leaves)}
    windows = windows_around(found, before=before, after=after, **limits)
    covered = [ordinal for item in windows for ordinal in range(item.span.first, item.span.last + 1)]
    assert len(covered) == len(set(covered))
    assert {hit.span.first for hit in found} <= set(covered)
    wide = windows_around(found, before=before, after=after)
    assert set(covered) <= {ordinal for item in wide for ordinal in range(item.span.first, item.span.last + 1)}
    assert all(item.span.size <= (max_words or len(leaves)) for item in windows)
    widened = [item for item in windows if item.span.size > 1]
    assert budget is None or sum(item.span.size for item in widened) <= budget


@pytest.mark.parametrize("wrong", [{"before": -1}, {"after": -1}, {"before": 1.5}, {"after": True}])
def test_options_out_of_range_are_refused(wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(InvalidArgument, match=f"{name} must be a whole number >= 0, got {value!r}"):
        SentenceWindow(**wrong)
