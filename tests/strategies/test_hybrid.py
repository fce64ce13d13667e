"""Words and vectors together: expected evidence as visible arithmetic, over given answers."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25Settings, F, Hybrid, Index, InvalidArgument, Query
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
from leafspan.strategies._hybrid_pool import EVIDENCE, Evidence, Pool
from leafspan.strategies.scoring import answer_probability
from leafspan.trace import Contribution, Trace
from leafspan.values import Candidate, LeafId, Span
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.profiles import examples
from tests.strategies.answers import V, hits, leaf, matches

SUMMARY = "s0"
WORDS, VECTORS, NEIGHBOURS = EVIDENCE.words, EVIDENCE.vectors, EVIDENCE.neighbours
PLAIN = Hybrid(references=0)
SEARCHES = {"a0": 9.0, "b0": 6.0, "c0": 3.0}, {"b0": 0.8, "d0": 0.6, "a0": 0.4}


def found_by(
    hybrid: Hybrid,
    words: dict[str, float],
    near: dict[str, float],
    *,
    size: int = 10,
    count: int = 24,
    mentions: dict[str, list[Mention]] | None = None,
):
    """The results of one query whose two searches find these leaves, by name; each document has ``size`` leaves.

    The leaves mention these documents.
    """
    asking = hybrid.retrieve([Query("?")], RetrievalContext(count))
    assert asking.send(None) == Embed((f"{hybrid.instruction}?",))
    search, match = asking.send([[1.0, 0.0]])
    assert isinstance(search, VectorSearch)
    assert isinstance(match, LexicalSearch)
    assert (match.count, search.count) == (max(100, count), max(50, count))
    load = asking.send(([hits(near)], [matches(words, size=size)]))
    known = {LeafId(name[0], V, int(name[1:])): each for name, each in (mentions or {}).items()}
    while True:
        if isinstance(load, FindMentions):
            assert len(load.ids) <= 6
            answer = {id_: known[id_] for id_ in load.ids if id_ in known}
        else:
            assert isinstance(load, Load)
            answer = {}
            for id_ in load.ids:
                document, _, ordinal = id_
                if ordinal < size:
                    span = Span(document, V, ordinal, ordinal, (ordinal, 0))
                    answer[id_] = Candidate(span, 0.0, Trace(), {}, words=1)
        try:
            load = asking.send(answer)
        except StopIteration as stop:
            (row,) = stop.value
            break
    return {f"{each.span.document_id}{each.span.first}": each for each in row}


def scores(found) -> dict[str, float]:
    return {name: pytest.approx(each.score) for name, each in found.items()}


def evidence(found: dict[str, Candidate]) -> dict[str, Any]:
    """The logarithm of each leaf's weight."""
    return {name: pytest.approx(each.trace.fused[0].score) for name, each in found.items()}


def test_evidence_is_added_up_by_weight():
    found = found_by(PLAIN, *SEARCHES)
    assert {name: evidence(found)[name] for name in SEARCHES[0] | SEARCHES[1]} == {
        "a0": WORDS,
        "b0": WORDS * 6 / 9 + VECTORS,
        "c0": WORDS * 3 / 9,
        "d0": VECTORS * (0.6 - 0.4) / (0.8 - 0.4),
    }
    assert [name for name in found if name in SEARCHES[0] | SEARCHES[1]] == ["b0", "a0", "c0", "d0"]
    (fused,) = found["b0"].trace.fused
    assert (fused.method, fused.contributions) == (
        "evidence",
        (
            Contribution("bm25", rank=2, score=6.0, share=pytest.approx(WORDS * 6 / 9), weight=WORDS),
            Contribution("vector", rank=1, score=0.8, share=pytest.approx(VECTORS), weight=VECTORS),
        ),
    )


def test_probabilities_are_shares_of_the_weights():
    found = found_by(PLAIN, *SEARCHES)
    weights = {name: exp(each.trace.fused[0].score) for name, each in found.items()}
    total = sum(weights.values()) / answer_probability(9 / 10, 1)
    assert {name: each.score for name, each in found.items()} == {
        name: pytest.approx(weight / total) for name, weight in weights.items()
    }
    assert "stands for a probability of 0." in found["a0"].trace.explain()[-1]


def test_only_the_ratio_of_the_weights_counts_and_larger_nodes_are_words():
    assert EVIDENCE.balanced((7, 3)) == pytest.approx(EVIDENCE)
    assert EVIDENCE.balanced((0.35, 0.65)) == pytest.approx(
        Evidence(*(each / 2 for each in EVIDENCE.scales), VECTORS * 0.65 / 0.3, *EVIDENCE[5:])
    )
    by_ten = found_by(replace(PLAIN, weights=(7, 3)), *SEARCHES)
    assert evidence(by_ten) == {name: each.trace.fused[0].score for name, each in found_by(PLAIN, *SEARCHES).items()}


def test_a_neighbour_adds_a_share_of_its_weight():
    found = found_by(PLAIN, {"a4": 9.0, "a5": 6.0, "b0": 3.0}, {"a4": 0.8, "b0": 0.2})
    best, second = exp(WORDS + VECTORS), exp(WORDS * 6 / 9)
    assert {name: evidence(found)[name] for name in ("a3", "a4", "a5", "a6")} == {
        "a3": log(1 + NEIGHBOURS * (best - 1)),  # found by neither search
        "a4": log(best + NEIGHBOURS * (second - 1)),
        "a5": log(second + NEIGHBOURS * (best - 1)),
        "a6": log(1 + NEIGHBOURS * (second - 1)),
    }
    assert found["a3"].trace.hits == ()
    in_short, steps, *_ = found["a3"].trace.explain()
    assert in_short == "in short, leaf 3 stands beside a leaf that matches"
    assert f"{log(1 + NEIGHBOURS * (best - 1)):.3f} from a neighbour" in steps


def test_no_neighbour_is_made_up_beyond_the_ends_of_a_document():
    assert list(found_by(PLAIN, {"a0": 9.0}, {"a0": 0.8}, size=1)) == ["a0"]
    assert {*found_by(PLAIN, {"a0": 9.0, "b1": 8.0}, {}, size=2)} == {"a0", "a1", "b0", "b1"}


def test_ties_go_by_document_then_position():
    found = found_by(PLAIN, {"b1": 5.0, "b3": 5.0, "a3": 5.0}, {})
    assert list(found) == ["a3", "b1", "b3", "a2", "a4", "b0", "b2", "b4"]


def test_results_below_the_lowest_score_are_left_out():
    every = found_by(PLAIN, *SEARCHES)
    least = every["a0"].score
    assert list(found_by(replace(PLAIN, min_score=least), *SEARCHES)) == ["b0", "a0"]


@examples(60)
@given(
    st.dictionaries(st.sampled_from(["a0", "a1", "b0", "b3", "c0", "c2"]), st.floats(0.5, 9), min_size=1),
    st.dictionaries(st.sampled_from(["a1", "b0", "c2", "d0"]), st.floats(-1, 1)),
    st.integers(1, 12),
)
def test_a_longer_answer_begins_with_the_shorter_one(words, near, count):
    words, near = (dict(sorted(each.items(), key=lambda item: -item[1])) for each in (words, near))
    every = found_by(PLAIN, words, near, count=30)
    few = found_by(PLAIN, words, near, count=count)
    assert list(few.items()) == list(every.items())[:count]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"weights": (1, 0)},
            r"weights must be two numbers > 0, .*, got \(1, 0\): one of them alone is BM25\(\) or Vector\(\)",
        ),
        ({"weights": (1, 2, 3)}, r"weights must be two numbers > 0, of words and of vectors, got \(1, 2, 3\)"),
        ({"min_score": "high"}, "min_score must be a number, got 'high'"),
        ({"references": 1.5}, "references must be a number in .0, 1., got 1.5"),
        ({"aliases": 5}, "aliases must be a string, got 5"),
        ({"bm25": {"k1": 1}}, "bm25 must be BM25Settings, got {'k1': 1}"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        Hybrid(**options)


@pytest.mark.parametrize("limits", [{"k": 1}, {"k": 4}, {"k": 9, "candidates": 200}, {"budget": 30}, {"budget": 90}])
def test_results_are_the_same_for_any_number_of_them(index: Index, limits):
    every = [(each.id, each.score) for each in index.retrieve(QUESTIONS[0], Hybrid(), k=200, candidates=200)]
    some = [(each.id, each.score) for each in index.retrieve(QUESTIONS[0], Hybrid(), **limits)]
    assert some
    if "k" in limits:
        assert some == every[: len(some)]
    else:  # a leaf that does not fit whole is left out
        assert some == [each for each in every if each in some]


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
        for hybrid in (Hybrid(), Hybrid(weights=(1, 9)), PLAIN):
            alone = {p.id: p.score for p in index.retrieve(QUESTIONS[0], hybrid, k=100, candidates=100)}
            both = index.retrieve(QUESTIONS[0], replace(hybrid, summaries=True), k=200, candidates=200)
            assert {p.id: p.score for p in both if not p.layer} == alone
            assert any(p.layer for p in both)


def test_a_summary_that_is_first_in_both_searches_weighs_as_much_as_the_best_leaf():
    pool = Pool(
        matches({SUMMARY: 9.0, "a1": 9.0, "b1": 6.0}),
        hits({"a1": 0.8, SUMMARY: 0.8, "b1": 0.4}),
        EVIDENCE,
        with_summaries=True,
    )
    pool.weigh_summaries()
    assert pool.summaries == {leaf(SUMMARY): pytest.approx(exp(WORDS + VECTORS))}


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
    found = [hits({"a0": 9.0, "b0": 6.0, "c0": 5.0})], [matches({}, size=1)]
    load = asking.send((*found, [[]], [LexicalMatches([], 0.0)]) if summaries else found)
    assert len(load.ids) == loaded


def test_a_summary_with_the_words_of_the_question_is_no_answer_to_it():
    for words, near, share in (({SUMMARY: 9.0}, {"a0": 0.8}, 0.0), ({SUMMARY: 9.0, "a0": 6.0}, {}, 6 / 10)):
        pool = Pool(matches(words, size=1), hits(near), EVIDENCE, with_summaries=True)
        assert pool.probability_of_an_answer == answer_probability(share, 1)


def test_whether_there_is_an_answer_depends_on_how_much_of_the_question_is_found(index: Index):
    """With ``min_answer_probability``, a question of the documents is answered, and one of words that they lack is not."""
    strict = Hybrid(min_answer_probability=0.5)
    assert index.retrieve("Who decoded the dance of the bees?", strict)
    assert not index.retrieve("quarterly dividend of the copper mine in Peru", strict)
