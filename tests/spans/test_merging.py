from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import AutoMerging, InvalidArgument
from leafspan.spans import auto_merge
from leafspan.spans._merging import _Node, fill
from tests.profiles import examples
from tests.word_trees import hits, spans, tree, trees_with_hits


def merge(found, *, threshold=0.5, fill_gaps=0, max_level=None, max_words=None, score="mean"):
    return auto_merge(
        found, threshold=threshold, fill_gaps=fill_gaps, max_level=max_level, max_words=max_words, score=score
    )


def test_a_parent_takes_the_place_of_its_children_when_more_than_half_were_found():
    leaves = tree(3, 3, 3)
    merged = merge(hits(leaves, {0: 0.9, 1: 0.5, 3: 0.8}))
    assert spans(merged) == [(3, 3, 0.8), (0, 2, (0.9 + 0.5) / 2)]


def test_exactly_half_is_not_enough():
    leaves = tree(2, 2, 2)
    assert spans(merge(hits(leaves, {0: 0.9}))) == [(0, 0, 0.9)]
    assert spans(merge(hits(leaves, {0: 0.9}), threshold=0.49)) == [(0, 1, 0.9)]


def test_merging_goes_on_level_by_level_and_averages_averages():
    leaves = tree(2, 2, 2, 2, grandparents=(2, 2))
    merged = merge(hits(leaves, {0: 0.8, 1: 0.6, 2: 0.4, 3: 0.2, 7: 0.1}))
    assert spans(merged) == [(0, 3, pytest.approx(((0.8 + 0.6) / 2 + (0.4 + 0.2) / 2) / 2)), (7, 7, 0.1)]


def test_gaps_are_filled_with_leaves_and_not_with_whole_parents():
    found = hits(tree(2, 2, 2, grandparents=(3,)), {0: 0.9, 1: 0.9, 4: 0.5, 5: 0.5})
    assert spans(merge(found, threshold=0.7, fill_gaps=2)) == [(0, 1, 0.9), (4, 5, 0.5)]


def test_the_whole_document_is_the_last_parent():
    leaves = tree(2, 2)
    assert spans(merge(hits(leaves, {0: 0.4, 1: 0.4, 2: 0.2, 3: 0.2}))) == [(0, 3, pytest.approx(0.3))]


def test_a_merged_node_takes_up_what_was_not_merged_below_it():
    leaves = tree(4, 2, grandparents=(2,))
    #  1 of 4 children is not more than a quarter, but 1 of the document's 2 parents is: it takes up the first hit, too
    merged = merge(hits(leaves, {0: 0.9, 4: 0.4, 5: 0.2}), threshold=0.25)
    assert spans(merged) == [(0, 5, pytest.approx((0.4 + 0.2) / 2))]
    assert [hit.ordinal for hit in merged[0].trace.hits] == [4, 5, 0]


def test_what_is_taken_up_may_begin_or_end_with_the_node():
    first, last = hits(tree(4, 2, grandparents=(2,)), {0: 0.9, 4: 0.4, 5: 0.2}), hits(tree(2, 4), {0: 0.4, 1: 0.2, 5: 0.9})
    # Of 4 children one is not more than a quarter, and so hits 0 and 5 stand alone, until the document takes them up.
    assert spans(merge(first, threshold=0.25)) == [(0, 5, pytest.approx(0.3))]
    assert spans(merge(last, threshold=0.25)) == [(0, 5, pytest.approx(0.3))]


def test_the_longest_node_to_merge_into_has_max_words():
    found = hits(tree(2, 2, 2, 2, grandparents=(2, 2)), {0: 0.8, 1: 0.6, 2: 0.4, 3: 0.2})
    assert [item[:2] for item in spans(merge(found, max_words=2))] == [(0, 1), (2, 3)]  # parents of exactly 2 words
    assert [item[:2] for item in spans(merge(found, max_words=4))] == [(0, 3)]


def test_the_parent_of_a_single_leaf_is_that_leaf_and_its_merge_is_not_worth_telling():
    leaves = tree(1, 3)
    [merged] = merge(hits(leaves, {0: 0.9}))
    assert (merged.leaf, merged.words) == (leaves[0], 1)
    assert (merged.trace.merges, merged.trace.explain()[0]) == ((), "vector found leaf 0 (score 0.900)")


def test_max_level_and_max_words_stop_the_merging():
    leaves = tree(2, 2, 2, 2, grandparents=(2, 2))
    found = hits(leaves, {0: 0.8, 1: 0.6, 2: 0.4, 3: 0.2})
    assert spans(merge(found, max_level=1)) == [(0, 1, pytest.approx(0.7)), (2, 3, pytest.approx(0.3))]
    assert spans(merge(found, max_words=3)) == [(0, 1, pytest.approx(0.7)), (2, 3, pytest.approx(0.3))]
    assert spans(merge(found, max_words=1)) == [(0, 0, 0.8), (1, 1, 0.6), (2, 2, 0.4), (3, 3, 0.2)]


def test_the_score_of_a_merged_node_may_be_its_best_childs():
    leaves = tree(3, 2)
    assert spans(merge(hits(leaves, {0: 0.9, 1: 0.5}), score="max")) == [(0, 2, 0.9)]


def test_a_gap_between_two_hits_is_filled_before_counting():
    leaves = tree(5, 5)
    found = hits(leaves, {0: 0.8, 2: 0.4})
    assert spans(merge(found)) == [(0, 0, 0.8), (2, 2, 0.4)]
    filled = merge(found, fill_gaps=1)
    #                                   3 of 5 children; the one that was filled has the mean of its neighbours' scores
    assert spans(filled) == [(0, 4, pytest.approx((0.8 + 0.6 + 0.4) / 3))]
    assert [(gap.first, gap.last, gap.score) for gap in filled[0].trace.filled] == [(1, 1, pytest.approx(0.6))]


def test_wider_gaps_are_filled_only_where_asked_for():
    leaves = tree(5, 5)
    found = hits(leaves, {0: 0.8, 3: 0.4})
    assert spans(merge(found, fill_gaps=1)) == [(0, 0, 0.8), (3, 3, 0.4)]
    assert spans(merge(found, fill_gaps=2)) == [(0, 4, pytest.approx((0.8 + 0.6 + 0.6 + 0.4) / 4))]


def test_what_fills_a_gap_are_the_leaves_between_the_hits_and_starts_where_the_first_hit_ends():
    leaves = tree(6)
    nodes = [_Node(hit, hit.leaf) for hit in hits(leaves, {0: 0.8, 3: 0.4, 5: 0.2})]
    filled = [node.candidate.span for node in fill(nodes, 2)]
    assert [(span.first, span.last) for span in filled] == [(0, 0), (1, 2), (3, 3), (4, 4), (5, 5)]
    assert [span.anchor for span in filled] == [(span.first, leaves[span.first].start) for span in filled]


def test_a_gap_of_two_leaves_counts_as_two_children():
    leaves = tree(8, 2)
    found = hits(leaves, {0: 0.9, 1: 0.9, 4: 0.3})
    #                     Hits 0, 1 and 4 and leaves 2 and 3 between them are 5 of 8; counted as one, they would be half.
    assert spans(merge(found, fill_gaps=2)) == [(0, 7, pytest.approx((0.9 + 0.9 + 0.6 + 0.6 + 0.3) / 5))]


def test_what_fills_a_gap_is_dropped_where_the_parent_is_not_merged():
    assert spans(merge(hits(tree(9, 3), {0: 0.8, 2: 0.4}), fill_gaps=1)) == [(0, 0, 0.8), (2, 2, 0.4)]  # 3 of 9 children


def test_gaps_are_not_filled_across_parents():
    leaves = tree(2, 2, 2)
    assert spans(merge(hits(leaves, {1: 0.8, 3: 0.4}), fill_gaps=3)) == [(1, 1, 0.8), (3, 3, 0.4)]


def test_hits_of_different_documents_do_not_mix():
    one, two = tree(3, 3, document_id="one"), tree(3, 3, document_id="two")
    found = sorted(hits(one, {0: 0.9}) + hits(two, {1: 0.8}), key=lambda item: item.order)
    assert [item.span.document_id for item in merge(found, fill_gaps=1)] == ["one", "two"]


def test_ties_go_by_document_then_position():
    one, two = tree(3, 3, document_id="one"), tree(3, 3, document_id="two")
    found = hits(two, {0: 0.5}) + hits(one, {4: 0.5, 2: 0.5})
    assert [(item.span.document_id, item.span.first) for item in merge(found)] == [("one", 2), ("one", 4), ("two", 0)]


def test_the_trace_names_hits_gaps_and_merges():
    leaves = tree(5, 5)
    trace = merge(hits(leaves, {0: 0.8, 2: 0.4}), fill_gaps=1)[0].trace
    assert trace.explain() == [
        "vector found leaf 0 (score 0.800)",
        "vector found leaf 2 (score 0.400)",
        "leaf 1 filled the gap between two hits (score 0.600)",
        "3 of 5 children (60%) merged into their parent at level 1: leaves 0 to 4 (score 0.600)",
        "not merged into the parent at level 2, leaves 0 to 9: 1 of 2 children (50%) were found, not more than the threshold "
        "of 50%",
    ]


@pytest.mark.parametrize(
    ("options", "first", "last", "step", "sentence"),
    [
        ({"threshold": 0.75}, 0, 0, (1, 0, 3, 3, 4, "threshold", 0.75), "3 of 4 children (75%) were found, not more than"),
        ({"max_words": 3}, 0, 0, (1, 0, 3, 3, 4, "max_words", 3), "its 4 words are more than 3"),
        ({"max_level": 1}, 0, 3, (2, 0, 7, 1, 2, "max_level", 1), "max_level is 1"),
    ],
)
def test_the_trace_says_which_ancestor_was_not_merged_and_why(options, first, last, step, sentence):
    merged = merge(hits(tree(4, 4), {0: 0.9, 1: 0.8, 2: 0.7}), **options)[0]
    assert (merged.span.first, merged.span.last) == (first, last)
    level, *leaves, present, children, option, limit = step
    [apart] = merged.trace.kept_apart
    assert (apart.level, [apart.first, apart.last], apart.option, apart.limit) == (level, leaves, option, limit)
    assert (apart.present, apart.children, apart.ratio) == (present, children, present / children)
    assert f"not merged into the parent at level {level}" in merged.trace.explain()[-1]
    assert sentence in merged.trace.explain()[-1]


def test_a_node_with_a_single_child_is_not_worth_telling_where_it_was_not_merged():
    [alone] = merge(hits(tree(1, 3), {0: 0.9}), threshold=1)  # all of its children, which is not more than that share
    assert (spans([alone]), alone.trace.kept_apart) == ([(0, 0, 0.9)], ())
    # The first parent is the only child of its grandparent, so that the document is the next larger node.
    [merged] = merge(hits(tree(2, 3, grandparents=(1, 1)), {0: 0.9, 1: 0.7}), max_level=1)
    [apart] = merged.trace.kept_apart
    assert (apart.level, apart.first, apart.last, apart.present, apart.children) == (3, 0, 4, 1, 2)


def test_nothing_merges_into_nothing():
    assert merge([]) == []


options = st.fixed_dictionaries(
    {
        "threshold": st.sampled_from([0, 0.25, 0.5, 0.75, 1]),
        "fill_gaps": st.integers(0, 2),
        "max_level": st.sampled_from([None, 1, 2]),
        "max_words": st.sampled_from([None, 1, 3, 10]),
        "score": st.sampled_from(["mean", "max"]),
    }
)


@examples(300)
@given(trees_with_hits(), options)
def test_no_hit_is_lost_and_no_text_comes_twice(tree_and_hits, chosen):
    leaves, found = tree_and_hits
    merged = merge(found, **chosen)
    covered = [ordinal for item in merged for ordinal in range(item.span.first, item.span.last + 1)]
    assert len(covered) == len(set(covered))
    assert {hit.span.first for hit in found} <= set(covered)
    assert merged == sorted(merged, key=lambda item: item.order)
    for item in merged:
        assert item.span.anchor == (item.span.first, leaves[item.span.first].start)
        assert {hit.ordinal for hit in item.trace.hits} <= set(range(item.span.first, item.span.last + 1))
        assert item.words == item.span.size  # every leaf is one word
        assert item.leaf == (leaves[item.span.first] if item.span.size == 1 else None)
        assert item.trace.merges or item.span.first in {hit.span.first for hit in found}
        assert chosen["max_words"] is None or item.words <= max(1, chosen["max_words"])


@examples(200)
@given(trees_with_hits(), options, st.randoms())
def test_the_order_of_the_hits_does_not_matter(tree_and_hits, chosen, random):
    _, found = tree_and_hits
    shuffled = list(found)
    random.shuffle(shuffled)
    assert [s[:2] for s in spans(merge(shuffled, **chosen))] == [s[:2] for s in spans(merge(found, **chosen))]


@examples(200)
@given(trees_with_hits())
def test_a_lower_threshold_never_splits_a_merged_passage(tree_and_hits):
    _, found = tree_and_hits
    strict, loose = merge(found, threshold=0.75), merge(found, threshold=0.25)
    for item in strict:
        assert any(o.span.first <= item.span.first and item.span.last <= o.span.last for o in loose)


@examples(100)
@given(trees_with_hits())
def test_a_threshold_of_one_merges_nothing(tree_and_hits):
    _, found = tree_and_hits
    assert spans(merge(found, threshold=1)) == spans(found)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"threshold": 1.5}, r"threshold must be a number in \[0, 1\], got 1.5"),
        ({"threshold": "half"}, r"threshold must be a number in \[0, 1\], got 'half'"),
        ({"fill_gaps": -1}, "fill_gaps must be a whole number >= 0, got -1"),
        ({"max_level": 0}, "max_level must be a whole number >= 1, got 0"),
        ({"max_words": 0.5}, "max_words must be a whole number >= 1, got 0.5"),
        ({"score": "median"}, "score must be one of 'mean', 'max', got 'median'"),
    ],
)
def test_options_out_of_range_are_refused(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        AutoMerging(**wrong)
