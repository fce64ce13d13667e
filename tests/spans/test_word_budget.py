"""Runs within a number of words. What ``RelevantSegments`` makes of them is in ``tests/strategies``."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document
from leafspan.documents import make_leaves
from leafspan.spans import runs_within_budget, short_gaps
from leafspan.spans._packing import longest_prefix
from leafspan.splitting import Cut
from leafspan.values import Candidate, LeafId
from tests.profiles import examples
from tests.word_trees import hits, spans, tree, trees_with_hits

# Every leaf of these trees is one word of four characters.


def test_runs_that_touch_stay_apart_where_they_would_be_too_long_together():
    found = hits(tree(4), {0: 0.9, 1: 0.8, 2: 0.7, 3: 0.6})
    for max_words, expected in ((2, [(0, 1, 0.9), (2, 3, 0.7)]), (3, [(0, 2, 0.9), (3, 3, 0.6)]), (4, [(0, 3, 0.9)])):
        runs, others = runs_within_budget(found, 10, max_words=max_words, run_cost=0)
        assert (spans(runs), others) == (expected, [])


def test_a_leaf_without_words_takes_no_room():
    first, blank, last = hits(tree(3), {0: 0.9, 1: 0.0, 2: 0.8})
    found = [first, replace(blank, words=0), last]
    assert spans(runs_within_budget(found, 2, max_words=2, run_cost=1)[0]) == [(0, 2, 0.9)]


def test_a_hit_that_fills_the_budget_joins_the_run_that_it_touches_unless_that_would_be_too_long():
    found = hits(tree(4), {0: 0.9, 1: 0.8, 2: 0.0})
    assert spans(runs_within_budget(found, 3, max_words=None, run_cost=0)[0]) == [(0, 2, 0.9)]
    assert spans(runs_within_budget(found, 3, max_words=2, run_cost=0)[0]) == [(0, 1, 0.9), (2, 2, 0.0)]


def test_a_run_is_worth_its_words_beside_any_leaves():
    # At 0.5 a word, the run is worth 0.9 + 0.3 + 0.9 - 3 * 0.5, which is more than 0.5 for a run; what follows is worth nothing.
    found = hits(tree(9), {0: 0.9, 1: 0.3, 2: 0.9, **dict.fromkeys(range(3, 7), 0.0), 8: 0.5})
    assert spans(runs_within_budget(found, 3, max_words=None, run_cost=1)[0]) == [(0, 2, 0.9)]


def every_second(scores: list[float]) -> tuple[list[Candidate], list[Candidate]]:
    """Hits with these scores on every second leaf, and the leaves between them. Each leaf has one word."""
    leaves = tree(2 * len(scores) - 1)
    found = hits(leaves, {2 * number: score for number, score in enumerate(scores)})
    return found, hits(leaves, dict.fromkeys(range(1, 2 * len(scores) - 1, 2), 0.0))


def test_gaps_are_bridged_where_all_scores_are_equal():
    found, between = every_second([1.0, 1.0, 1.0])
    # At the score of each hit, 1.0 a word, all five leaves are worth 3 - 5 - 2 for the run: nothing is worth a run. At half of
    # what each hit has for its word and its run, 1 / 3 / 2, one run is worth 3 - 5 / 6 - 2 / 6, and three 3 - 3 / 6 - 6 / 6.
    assert spans(runs_within_budget(found, 5, max_words=None, run_cost=2, between=between)[0]) == [(0, 4, 1.0)]
    # Where the gap of a word costs as much as a second run, it stays open.
    runs, _ = runs_within_budget(found, 5, max_words=None, run_cost=1, between=between)
    assert spans(runs) == [(0, 0, 1.0), (2, 2, 1.0), (4, 4, 1.0)]


def test_of_equal_scores_the_runs_come_that_fit_and_then_the_hits_that_fit():
    found, between = every_second([1.0] * 13)
    runs, others = runs_within_budget(found, 10, max_words=None, run_cost=2, between=between)
    # Nine leaves to the hit 8, since a run of ten would end in a gap; the word that is left is the next hit's.
    assert (spans(runs), len(others)) == ([(0, 8, 1.0), (10, 10, 1.0)], 13 - 5 - 1)
    runs, _ = runs_within_budget(found, 25, max_words=None, run_cost=2, between=between)
    assert spans(runs) == [(0, 24, 1.0)]
    runs, _ = runs_within_budget(found, 25, max_words=7, run_cost=2, between=between)
    assert [run.span.size for run in runs] == [7, 7, 7, 1]


def test_a_better_or_a_worse_hit_does_not_keep_the_others_from_being_bridged():
    for changed in (3.0, 0.01):
        found, between = every_second([1.0, 1.0, changed, 1.0, 1.0])
        runs, _ = runs_within_budget(found, 9, max_words=None, run_cost=2, between=between)
        assert spans(runs) == [(0, 8, max(changed, 1.0))]
    # In seven words, the run that is chosen has the better hit, and no run has the worse one.
    found, between = every_second([1.0, 1.0, 3.0, 1.0, 1.0])
    assert spans(runs_within_budget(found, 7, max_words=None, run_cost=2, between=between)[0])[0][2] == 3.0


@examples(200)
@given(trees_with_hits(), st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from([0, 1, 2, 4]))
def test_where_there_is_room_for_all_a_gap_is_bridged_if_it_is_shorter_than_a_run_costs(tree_and_hits, spread, run_cost):
    leaves, found = tree_and_hits
    found = [replace(each, score=1 + spread * each.score) for each in found]
    places = sorted(each.span.first for each in found)
    between = [each for each in hits(leaves, {leaf.ordinal: 0.0 for leaf in leaves}) if each.span.first not in places]
    runs, others = runs_within_budget(found, len(leaves), max_words=None, run_cost=run_cost, between=between)
    assert not others
    starts = [after for before, after in pairwise([-9, *places]) if after - before - 1 >= max(run_cost, 1)]
    assert sorted(run.span.first for run in runs) == starts


@pytest.mark.parametrize("order", [(0, 2, 1), (0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_gap_of_little_relevance_is_bridged_in_any_order_of_hits(order):
    leaves = tree(9)
    scores = {0: 0.5, 1: 0.001, 2: 0.5, 8: 0.1}
    found = [hits(leaves, {ordinal: scores[ordinal]})[0] for ordinal in (*order, 8)]
    #    At the price of leaf 8, 0.1 a word, one run is worth 1.001 - 3 * 0.1 - 2 * 0.1, and two are 1 - 2 * 0.1 - 4 * 0.1.
    runs, others = runs_within_budget(found, 3, max_words=None, run_cost=2)
    assert (spans(runs), spans(others)) == ([(0, 2, 0.5)], [(8, 8, 0.1)])


def test_a_gap_that_was_not_found_is_bridged_and_traced_but_its_score_does_not_count():
    leaves = tree(9)
    found, between = hits(leaves, {0: 0.5, 2: 0.4, 8: 0.1}), hits(leaves, {1: 0.99})
    runs, _ = runs_within_budget(found, 3, max_words=None, run_cost=2, between=between)
    assert spans(runs) == [(0, 2, 0.5)]
    assert [(gap.first, gap.last, gap.score) for gap in runs[0].trace.filled] == [(1, 1, 0.0)]
    assert [hit.ordinal for hit in runs[0].trace.hits] == [0, 2]
    # Where the gap does not fit, the hits stand alone.
    runs, _ = runs_within_budget(found, 2, max_words=None, run_cost=2, between=between)
    assert spans(runs) == [(0, 0, 0.5), (2, 2, 0.4)]


@examples(200)
@given(trees_with_hits(), st.integers(1, 12), st.sampled_from([None, 1, 3]), st.sampled_from([0, 2]), st.data())
def test_no_hit_is_lost_lengths_are_right_and_the_order_of_the_hits_does_not_matter(
    tree_and_hits, budget, max_words, run_cost, data
):
    _, found = tree_and_hits
    runs, others = runs_within_budget(found, budget, max_words=max_words, run_cost=run_cost)
    covered = [ordinal for run in runs for ordinal in range(run.span.first, run.span.last + 1)]
    assert sorted([*covered, *(hit.span.first for hit in others)]) == sorted({*covered, *(hit.span.first for hit in found)})
    assert [run.words for run in runs] == [run.span.size for run in runs]
    assert sum(run.words for run in runs) <= budget
    assert all(run.words <= (max_words or budget) for run in runs)
    shuffled = data.draw(st.permutations(found))
    again, others_again = runs_within_budget(shuffled, budget, max_words=max_words, run_cost=run_cost)
    assert (spans(again), spans(others_again)) == (spans(runs), spans(others))


def test_gaps_have_at_most_ten_characters_a_word():
    found = hits(tree(9), {0: 0.9, 3: 0.8, 8: 0.7})
    #                     Between 0 and 3 lie 2 leaves of 4 characters, between 3 and 8 four of them.
    first, second = ([LeafId("d", "00000000", n) for n in between] for between in ((1, 2), (4, 5, 6, 7)))
    assert short_gaps(found, 0.7) == []
    assert short_gaps(found, 0.8) == first
    assert short_gaps(found, 1.6) == first + second
    assert short_gaps(hits(tree(4), {1: 0.9, 2: 0.8}), 100) == []
    assert short_gaps([], 100) == []


def test_a_single_character_is_a_gap_as_well():
    leaves = make_leaves(Document("d", "a b"), "00000000", [Cut(1), Cut(2), Cut(3, 1)])
    assert short_gaps(hits(leaves, {0: 0.9, 2: 0.8}), 1) == [LeafId("d", "00000000", 1)]


@examples(50)
@given(trees_with_hits(), st.floats(0, 2), st.data())
def test_gaps_do_not_depend_on_the_order_of_the_hits(tree_and_hits, words, data):
    _, found = tree_and_hits
    assert short_gaps(data.draw(st.permutations(found)), words) == short_gaps(found, words)


def test_no_gap_lies_between_two_documents_or_versions():
    one, two = tree(5, document_id="one"), tree(9, document_id="two")
    assert short_gaps([*hits(one, {0: 0.9}), *hits(two, {4: 0.9})], 100) == []


@pytest.mark.parametrize(("least", "kept"), [(0, []), (1, [7]), (2, [7, 1])])
def test_as_many_items_as_are_needed_are_kept_even_if_they_do_not_fit(least, kept):
    assert longest_prefix([7, 1, 1], [7, 1, 1], 5, least=least) == kept
