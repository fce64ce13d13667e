from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from leafspan.spans import unite
from leafspan.trace import Trace
from leafspan.values import Candidate
from tests.profiles import examples
from tests.word_trees import hit, spans, tree

LEAVES = tree(20)


def run(first: int, last: int, score: float, words: int | None = None) -> Candidate:
    """These leaves as one result, with its first leaf as anchor."""
    of_first = hit(LEAVES[first], score)
    span = replace(of_first.span, last=last)
    return replace(of_first, span=span, words=words, leaf=of_first.leaf if first == last else None)


def test_runs_that_overlap_are_one_with_the_best_score():
    assert spans(unite([run(0, 3, 0.5), run(3, 5, 0.9), run(8, 9, 0.7)])) == [(0, 5, 0.9), (8, 9, 0.7)]


def test_a_run_within_another_is_part_of_it():
    assert spans(unite([run(0, 9, 0.5), run(2, 3, 0.9), run(5, 7, 0.1)])) == [(0, 9, 0.9)]


def test_runs_that_touch_are_one_only_where_that_is_wanted():
    assert spans(unite([run(0, 3, 0.5), run(4, 5, 0.9)])) == [(4, 5, 0.9), (0, 3, 0.5)]
    assert spans(unite([run(0, 3, 0.5), run(4, 5, 0.9)], touching=True)) == [(0, 5, 0.9)]
    assert spans(unite([run(0, 3, 0.5), run(5, 5, 0.9)], touching=True)) == [(5, 5, 0.9), (0, 3, 0.5)]


def test_documents_and_versions_stay_apart():
    here = run(0, 3, 0.5)
    there = replace(here, span=replace(here.span, document_id="a"))
    before = replace(here, span=replace(here.span, version="11111111"))
    assert unite([here, there, before]) == [there, here, before]


def test_one_that_meets_no_other_stays_as_it_is():
    alone = run(4, 4, 0.5, words=1)
    assert unite([alone]) == [alone]
    assert unite([]) == []


def test_the_length_is_known_where_one_holds_all_others():
    assert unite([run(0, 9, 0.5, words=10), run(2, 3, 0.9, words=2)])[0].words == 10
    assert unite([run(0, 3, 0.5, words=4), run(2, 5, 0.9, words=4)])[0].words is None


def test_what_was_united_is_no_single_leaf():
    one, other = run(2, 2, 0.9, words=1), run(0, 3, 0.5, words=4)
    assert one.leaf is not None
    assert [each.leaf for each in unite([one, other])] == [None]
    assert [each.leaf for each in unite([one, run(2, 2, 0.5, words=1)])] == [None]


def test_the_anchor_is_the_place_of_a_leaf_within():
    united = unite([run(0, 3, 0.5), run(2, 5, 0.9)])[0]
    assert united.span.anchor == (2, LEAVES[2].start)


def test_the_trace_has_the_hits_of_all_best_first_and_each_once():
    united = unite([run(0, 3, 0.5), run(2, 5, 0.9), run(2, 7, 0.9)])[0]
    assert [(each.ordinal, each.score) for each in united.trace.hits] == [(2, 0.9), (0, 0.5)]
    assert united.trace + united.trace == united.trace + Trace() == united.trace


RUNS = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 5), st.integers(0, 9)), max_size=8).map(
    lambda drawn: [run(first, min(19, first + length), score / 10) for first, length, score in drawn]
)


@examples(200)
@given(RUNS, st.booleans(), st.data())
def test_nothing_is_lost_nothing_comes_twice_and_the_order_of_the_runs_does_not_matter(runs, touching, data):
    united = unite(runs, touching=touching)
    covered = [leaf for each in united for leaf in range(each.span.first, each.span.last + 1)]
    assert sorted(covered) == sorted({leaf for each in runs for leaf in range(each.span.first, each.span.last + 1)})
    assert max((each.score for each in united), default=0) == max((each.score for each in runs), default=0)
    assert united == sorted(united, key=lambda each: each.order)
    assert spans(unite(united, touching=touching)) == spans(united)
    assert spans(unite(data.draw(st.permutations(runs)), touching=touching)) == spans(united)
