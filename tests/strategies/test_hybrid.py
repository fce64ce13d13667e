"""Words and vectors fused: expected scores as visible arithmetic, over given answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25Settings, F, Hybrid, Index, InvalidArgument, Passage, Query
from leafspan.strategies import (
    Embed,
    FindMentions,
    LexicalMatches,
    LexicalSearch,
    Load,
    Mention,
    RetrievalContext,
    VectorSearch,
)
from leafspan.strategies._fused_leaves import FusedLeaves, LeafNumbers
from leafspan.strategies._hybrid_pool import fused_pool
from leafspan.strategies.scoring import absence_weight
from leafspan.trace import Contribution, Trace
from leafspan.values import SUMMARY_VERSION, Candidate, Covered, Hit, LeafId, Span, Summary
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.profiles import examples

V = "00000000"
LEAVES = st.builds(LeafId, st.sampled_from("abc"), st.just(V), st.integers(0, 5))
SCORES = st.sampled_from([0.125, 0.25, 0.5, 1.0])

SUMMARY = "s0"


def hits(scores: dict[str, float]) -> list[Hit]:
    """``{"a0": 3.0}`` is the leaf 0 of document a."""
    version = {name: f"{SUMMARY_VERSION}0" if name == SUMMARY else V for name in scores}
    return [Hit(LeafId(name[0], version[name], int(name[1:])), score) for name, score in scores.items()]


def found_by(
    hybrid: Hybrid,
    words: dict[str, float],
    near: dict[str, float],
    *,
    last: int = 9,
    count: int = 24,
    summaries: dict[str, float] | None = None,
    covers: tuple[int, int] = (0, 0),
    mentions: dict[str, list[Mention]] | None = None,
):
    """The results of one query whose two searches find these leaves; documents have the leaves 0 to ``last``.

    The leaves mention these documents. The vectors find these summaries. ``covers`` is the first and the last leaf of document a that are below each of them.
    """
    asking = hybrid.retrieve([Query("?")], RetrievalContext(count))
    assert asking.send(None) == Embed((f"{hybrid.instruction}?",))
    search, match, *among_summaries = asking.send([[1.0, 0.0]])
    assert isinstance(search, VectorSearch)
    assert isinstance(match, LexicalSearch)
    assert (match.count, search.count) == tuple(max(depth, count) for depth in hybrid.depth)
    answers = [[hits(near)], [LexicalMatches(hits(words), 10.0)]]
    if among_summaries:
        assert [(type(each), each.summaries) for each in among_summaries] == [(VectorSearch, True), (LexicalSearch, True)]
        answers += [[hits(summaries or {})], [LexicalMatches([], 10.0)]]
    load = asking.send(tuple(answers))
    summary = Summary(1, ("below",), (Covered("a", V, *covers, 0, 0),))
    known = {LeafId(name[0], V, int(name[1:])): each for name, each in (mentions or {}).items()}
    while True:
        if isinstance(load, FindMentions):
            assert len(load.ids) <= 6
            answer = {id_: known[id_] for id_ in load.ids if id_ in known}
        else:
            assert isinstance(load, Load)
            answer = {}
            for id_ in (*load.ids, *load.optional):
                document, _, ordinal = id_
                if ordinal <= last:
                    span = Span(document, V, ordinal, ordinal, (ordinal, 0))
                    is_summary = f"{document}{ordinal}" == SUMMARY
                    answer[id_] = Candidate(span, 0.0, Trace(), {}, words=1, summary=summary if is_summary else None)
        try:
            load = asking.send(answer)
        except StopIteration as stop:
            (row,) = stop.value
            break
    return {f"{each.span.document_id}{each.span.first}": each for each in row}


def scores(found) -> dict[str, float]:
    return {name: pytest.approx(each.score) for name, each in found.items()}


PLAIN = Hybrid(calibrate=False, neighbour_bonus=0, weights=(0.7, 0.3))


def test_relative_scores_are_added_by_weight():
    found = found_by(PLAIN, {"a0": 9.0, "b0": 6.0, "c0": 5.0}, {"b0": 0.8, "d0": 0.6, "a0": 0.4})
    assert scores(found) == {
        "a0": 0.7 * 1 + 0.3 * 0,
        "b0": 0.7 * (6 - 5) / (9 - 5) + 0.3 * 1,
        "d0": 0.3 * (0.6 - 0.4) / (0.8 - 0.4),
        "c0": 0.0,
    }
    assert list(found) == ["a0", "b0", "d0", "c0"]
    (fused,) = found["b0"].trace.fused
    assert fused.contributions == (
        Contribution("bm25", rank=2, score=6.0, share=pytest.approx(0.7 * (6 - 5) / (9 - 5)), weight=0.7),
        Contribution("vector", rank=1, score=0.8, share=pytest.approx(0.3), weight=pytest.approx(0.3)),
    )


def test_only_the_ratio_of_the_weights_counts():
    searches = {"a0": 9.0, "b0": 6.0, "c0": 5.0}, {"b0": 0.8, "d0": 0.6}
    by_ten = Hybrid(calibrate=False, neighbour_bonus=0, weights=(7, 3))
    assert scores(found_by(by_ten, *searches)) == scores(found_by(PLAIN, *searches))


def test_reciprocal_ranks_are_averaged():
    fused = Hybrid(calibrate=False, neighbour_bonus=0, fusion="rrf", weights=(1, 1))
    found = found_by(fused, {"a0": 9.0, "b0": 6.0}, {"b0": 0.8, "d0": 0.6})
    assert scores(found) == {"b0": (1 / 62 + 1 / 61) / 2, "a0": 1 / 61 / 2, "d0": 1 / 62 / 2}


def test_the_higher_of_two_scores_counts_by_maximum():
    fused = Hybrid(calibrate=False, neighbour_bonus=0, fusion="maximum", weights=(0.5, 1))
    found = found_by(fused, {"a0": 0.9, "b0": 0.6}, {"b0": 0.8, "a0": 0.1})
    assert scores(found) == {"b0": 0.8, "a0": 0.5 * 0.9}


def test_a_leaf_exists_that_was_found_or_stands_before_one():
    known_as = LeafNumbers([("a", V), ("b", V)])
    leaves = FusedLeaves.of(known_as, known_as.of([LeafId("a", V, 4), LeafId("b", V, 0)]), [1.0, 1.0], 0.3)
    there = list(known_as.leaves(leaves.numbers[leaves.are_there].tolist()))
    assert there == [
        LeafId("a", V, 3),
        LeafId("a", V, 4),
        LeafId("b", V, 0),
    ]  # leaf 5, and b's leaf 1, may be behind the end


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_highest_score_of_a_leaf_counts_or_their_sum(share):
    known_as = LeafNumbers([("a", V)])
    numbers = known_as.of([LeafId("a", V, 4), LeafId("a", V, 2), LeafId("a", V, 4)])
    for add_up, of_leaf in ((True, 0.75), (False, 0.5)):
        leaves = FusedLeaves.of(known_as, numbers, np.array([0.5, 0.125, 0.25]), share, add_up=add_up)
        assert dict(zip(leaves.numbers[leaves.are_found], leaves.fused[leaves.are_found], strict=True)) == {
            2: 0.125,
            4: of_leaf,
        }


@examples(100)
@given(st.dictionaries(LEAVES, SCORES), st.dictionaries(LEAVES, SCORES), SCORES)
def test_bonuses_are_added_to_leaves_of_known_documents_and_of_others(scores, bonuses, share):
    known_as = LeafNumbers.among(scores)
    leaves = FusedLeaves.of(known_as, known_as.of(scores), np.array(list(scores.values())), share)
    before, raised = leaves.sums_in("abc"), leaves.raised(bonuses)
    assert raised.sums_in("abc") == {
        leaf: before.get(leaf, 0.0) + bonuses.get(leaf, 0.0) for leaf in sorted({*before, *bonuses})
    }
    assert raised.have_found(scores) == [True] * len(scores)
    assert raised.have_found(bonuses) == [leaf in scores for leaf in bonuses]
    assert raised.sums_of(before) == [raised.sums_in("abc")[leaf] for leaf in before]
    assert [leaf for _, leaf in raised.best_first()] == [
        leaf for _, leaf in sorted((-score, leaf) for leaf, score in raised.sums_in("abc").items())
    ]


def test_a_neighbour_adds_a_share_of_its_score():
    hybrid = replace(PLAIN, neighbour_bonus=0.5)
    found = found_by(hybrid, {"a4": 9.0, "a5": 7.0, "b0": 5.0}, {"a4": 0.8, "b0": 0.2})
    assert scores(found) == {
        "a4": 1.0 + 0.5 * 0.7 * (7 - 5) / (9 - 5),
        "a5": 0.7 * 0.5 + 0.5 * 1.0,
        "a3": 0.5 * 1.0,  # found by neither search
        "a6": 0.5 * 0.35,
        "b0": 0.0,
    }
    assert found["a3"].trace.hits == ()
    in_short, steps, *_ = found["a3"].trace.explain()
    assert in_short == "in short, leaf 3 stands beside a leaf that matches"
    assert "0.500 from a neighbour" in steps


def test_no_neighbour_is_made_up_beyond_the_ends_of_a_document():
    found = found_by(Hybrid(calibrate=False), {"a0": 9.0}, {"a0": 0.8}, last=0)
    assert list(found) == ["a0"]


def test_neighbours_do_not_push_out_what_was_found():
    hybrid = Hybrid(calibrate=False, neighbour_bonus=0.9)
    found = found_by(hybrid, {"a4": 9.0, "b0": 8.0, "c0": 7.0}, {"a4": 0.8}, last=4, count=3)
    assert len(found) == 3


def test_ties_go_by_document_then_position():
    found = found_by(PLAIN, {"b1": 5.0, "b0": 5.0, "a3": 5.0}, {})
    assert list(found) == ["a3", "b0", "b1"]


def test_calibrated_scores_are_probabilities_in_the_same_order():
    searches = {"a0": 9.0, "b0": 6.0, "c0": 5.0}, {"b0": 0.8, "d0": 0.6, "a0": 0.4}
    plain, calibrated = found_by(Hybrid(calibrate=False), *searches), found_by(Hybrid(), *searches)
    assert list(plain) == list(calibrated)
    assert all(0 <= each.score <= 1 for each in calibrated.values())
    assert "stands for a probability of 0." in calibrated["a0"].trace.explain()[-1]


def test_results_below_the_lowest_score_are_left_out():
    searches = {"a0": 9.0, "b0": 6.0, "c0": 5.0}, {"b0": 0.8, "d0": 0.6, "a0": 0.4}
    hybrid = replace(PLAIN, min_score=0.4)
    assert list(found_by(hybrid, *searches)) == ["a0", "b0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"weights": (1, 0)},
            r"weights must be two numbers > 0, .*, got \(1, 0\): one of them alone is BM25\(\) or Vector\(\)",
        ),
        ({"weights": (1, 2, 3)}, r"weights must be two numbers > 0, of BM25 and of vectors, got \(1, 2, 3\)"),
        ({"fusion": "best"}, "fusion must be one of 'rrf', .*, got 'best'"),
        ({"depth": 0}, "depth must be a whole number >= 1, got 0"),
        ({"depth": (1, 2, 3)}, "depth must be a whole number, or two"),
        ({"neighbour_bonus": -0.1}, "neighbour_bonus must be a number in .0, 1., got -0.1"),
        ({"min_score": "high"}, "min_score must be a number, got 'high'"),
        ({"references": 1.5}, "references must be a number in .0, 1., got 1.5"),
        ({"aliases": 5}, "aliases must be a string, got 5"),
        ({"bm25": {"k1": 1}}, "bm25 must be BM25Settings, got {'k1': 1}"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        Hybrid(**options)


def test_a_vector_alone_is_searched_by_vectors_alone(index: Index):
    vector = np.eye(256)[3]
    found = index.retrieve(list(vector), Hybrid())
    assert {hit.source for passage in found for hit in passage.trace.hits} == {"vector"}
    assert index.retrieve(vector, Hybrid()) == index.retrieve_many([vector], Hybrid())[0] == found


def test_the_trace_names_each_search_that_found_a_leaf_and_its_rank(index: Index):
    best = index.retrieve(QUESTIONS[0], Hybrid(), k=1)[0]
    assert [(hit.source, hit.rank) for hit in best.trace.hits] == [("bm25", 1), ("vector", 3)]
    assert best.score == best.trace.calibrated[0].probability


def test_a_filter_holds_in_both_searches(index: Index):
    found = index.retrieve("dance of the bees in the harbour", Hybrid(), where=F("topic") == "food", k=50)
    assert {passage.document_id for passage in found} == {"tea"}


def test_bm25_settings_of_a_strategy_take_precedence_over_the_indexs(index: Index):
    flat = index.retrieve(QUESTIONS[0], Hybrid(bm25=BM25Settings(k1=0)), k=1)[0]
    assert flat.trace.hits[0].score != index.retrieve(QUESTIONS[0], Hybrid(), k=1)[0].trace.hits[0].score


def test_leaves_score_the_same_whether_summaries_are_searched_too(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree()
        for hybrid in (Hybrid(), Hybrid(fusion="distribution_based"), Hybrid(fusion="rrf")):
            alone = {p.id: p.score for p in index.retrieve(QUESTIONS[0], hybrid, k=100, candidates=100)}
            both = index.retrieve(QUESTIONS[0], replace(hybrid, summaries=True), k=200, candidates=200)
            assert {p.id: p.score for p in both if not p.layer} == alone
            assert any(p.layer for p in both)


def test_every_leaf_below_one_of_the_best_summaries_gets_its_bonus(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree()
        hybrid = replace(PLAIN, summaries=True, depth=200)
        every = index.retrieve(QUESTIONS[0], hybrid, k=200, candidates=200)
        leaves = {p.id: p for p in index.retrieve(QUESTIONS[0], replace(PLAIN, summary_bonus=1.0, depth=200), k=200)}
        best = next(p for p in every if p.layer == 1)
        below = covered(best)
        assert below <= leaves.keys()
        assert min(leaves[id_].trace.fused[0].summary_bonus for id_ in below) > 0
        # A leaf has summaries of several layers above it; the best one counts.
        above = {id_: [p.score for p in every if p.layer and id_ in covered(p)] for id_ in leaves}
        assert max(map(len, above.values())) > 1
        for id_, scores in above.items():
            assert leaves[id_].trace.fused[0].summary_bonus == pytest.approx(max(scores, default=0))


def covered(summary: Passage) -> set[str]:
    return {str(id_) for run in summary.summary.covers for id_ in run.leaf_ids}


def test_the_leaves_below_a_summary_get_its_bonus_and_those_beside_them_do_not():
    hybrid = replace(PLAIN, weights=(1, 1), summary_bonus=0.25)
    words, near = {"a1": 9.0, "a2": 7.0, "a5": 5.0}, {"a1": 0.8, "a5": 0.4}
    assert scores(found_by(hybrid, words, near, summaries={SUMMARY: 0.8}, covers=(2, 4))) == {
        "a1": 0.5 * 1 + 0.5 * 1,
        "a2": 0.5 * (7 - 5) / (9 - 5) + 0.25 * 0.5,
        "a3": 0.25 * 0.5,  # only the summary was found
        "a4": 0.25 * 0.5,
        "a5": 0.0,
    }


@pytest.mark.parametrize(
    ("summaries", "words", "loaded"),
    [(False, None, 1), (False, 100, 1), (True, None, 1), (True, 100, 3)],  # a summary may be longer than the budget
)
def test_only_what_is_returned_is_loaded_unless_it_may_be_left_out_of_the_budget(summaries, words, loaded):
    asking = replace(PLAIN, summaries=summaries, references=0).retrieve(
        [Query("?")], RetrievalContext(24, k=1, words=words)
    )
    asking.send(None)
    asking.send([[1.0, 0.0]])
    found = [hits({"a0": 9.0, "b0": 6.0, "c0": 5.0})], [LexicalMatches([], 10.0)]
    load = asking.send((*found, [[]], [LexicalMatches([], 0.0)]) if summaries else found)
    assert len(load.ids) == loaded


def test_a_summary_with_the_words_of_the_question_is_no_answer_to_it():
    options = {"weights": (1, 1), "fusion": "rrf", "scales": (), "soft_matches": 0, "neighbour_bonus": 0}
    pool = fused_pool(LexicalMatches(hits({SUMMARY: 9.0}), 10.0), hits({"a1": 0.8}), **options, with_summaries=True)
    assert pool.absence == absence_weight(0.0, 1)
    pool = fused_pool(LexicalMatches(hits({SUMMARY: 9.0, "a1": 6.0}), 10.0), [], **options, with_summaries=True)
    assert pool.absence == absence_weight(6 / 10, 1)


def test_whether_there_is_an_answer_depends_on_how_much_of_the_question_is_found(index: Index):
    """With ``min_answer_probability``, a question of the documents is answered, and one of words that they lack is not."""
    strict = Hybrid(min_answer_probability=0.5)
    assert index.retrieve("Who decoded the dance of the bees?", strict)
    assert not index.retrieve("quarterly dividend of the copper mine in Peru", strict)


def test_a_share_of_the_score_of_the_best_summary_above_a_leaf_is_added(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree()

        def found(share: float):
            hybrid = replace(PLAIN, summary_bonus=share)
            return {p.id: p for p in index.retrieve(QUESTIONS[0], hybrid, k=100, candidates=100)}

        plain, half, whole = found(0), found(0.5), found(1)
        bonus = {id_: passage.trace.fused[0].summary_bonus for id_, passage in whole.items()}
        assert any(bonus.values())
        for id_, added in bonus.items():
            assert half[id_].trace.fused[0].summary_bonus == pytest.approx(added / 2)
            assert whole[id_].score == pytest.approx(added + (plain[id_].score if id_ in plain else 0))
