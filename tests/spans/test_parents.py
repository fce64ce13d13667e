from __future__ import annotations

import pytest

from leafspan import InvalidArgument, ParentDocument
from leafspan.spans import parents_of
from tests.word_trees import hits, spans, tree


def test_parents_come_in_hit_order_each_once_with_the_best_score():
    leaves = tree(3, 3, 3)
    assert spans(parents_of(hits(leaves, {4: 0.9, 0: 0.8, 5: 0.7, 8: 0.6}), level=1)) == [
        (3, 5, 0.9),
        (0, 2, 0.8),
        (6, 8, 0.6),
    ]


def test_of_a_parent_the_place_of_its_first_leaf_is_known():
    leaves = tree(3, 3, 3)
    parents = parents_of(hits(leaves, {4: 0.9, 0: 0.8}), level=1)
    assert [parent.span.anchor for parent in parents] == [(3, 3 * 4), (0, 0)]


def test_parents_can_be_of_a_higher_level_or_the_document():
    leaves = tree(2, 2, 2, 2, grandparents=(2, 2))
    found = hits(leaves, {7: 0.9, 0: 0.8})
    assert spans(parents_of(found, level=2)) == [(4, 7, 0.9), (0, 3, 0.8)]
    assert spans(parents_of(found, level=3)) == [(0, 7, 0.9)]
    assert spans(parents_of(found, level=None)) == [(0, 7, 0.9)]
    assert spans(parents_of(found, level=9)) == [(0, 7, 0.9)]


def test_in_the_place_of_a_parent_that_is_too_long_comes_what_is_below_it():
    leaves = tree(2, 2, 3, 3, grandparents=(2, 2))
    found = hits(leaves, {0: 0.9, 1: 0.8, 5: 0.7, 4: 0.6})
    assert spans(parents_of(found, level=2, max_words=6)) == [(0, 3, 0.9), (4, 9, 0.7)]  # 4 and 6 words
    assert spans(parents_of(found, level=2, max_words=5)) == [(0, 3, 0.9), (4, 6, 0.7)]
    assert spans(parents_of(found, level=2, max_words=2)) == [(0, 1, 0.9), (5, 5, 0.7), (4, 4, 0.6)]
    assert parents_of(found, level=2, max_words=1) == found  # as they are


def test_a_parent_knows_its_words_and_is_no_leaf():
    leaves = tree(3, 1)
    assert [(each.words, each.leaf) for each in parents_of(hits(leaves, {0: 0.9, 3: 0.8}), level=1)] == [
        (3, None),
        (1, None),
    ]


def test_the_trace_names_the_hits_and_the_level():
    leaves = tree(3, 3)
    assert parents_of(hits(leaves, {1: 0.9, 0: 0.8}), level=1)[0].trace.explain() == [
        "vector found leaf 1 (score 0.900)",
        "vector found leaf 0 (score 0.800)",
        "widened to the parent at level 1",
    ]


@pytest.mark.parametrize("wrong", [{"level": 0}, {"level": "top"}, {"max_parents": 0}])
def test_options_out_of_range_are_refused(wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(InvalidArgument, match=f"{name} must be a whole number >= 1, got {value!r}"):
        ParentDocument(**wrong)
