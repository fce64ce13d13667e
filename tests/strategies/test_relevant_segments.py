"""The most relevant segments within a number of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    Document,
    HierarchicalSplitter,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    RelevantSegments,
    Strategy,
    Vector,
)
from leafspan.examples import example_documents
from leafspan.spans import runs_within_budget
from leafspan.trace import Trace
from leafspan.values import Candidate, Span
from tests.corpus import QUESTIONS, TEXTS
from tests.profiles import examples

V = "00000000"


@pytest.fixture(scope="module")
def wikipedia(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("examples") / "kb") as opened:
        opened.add(example_documents())
        yield opened


def leaf(name: str, score: float, words: int = 10) -> Candidate:
    """``"a3"`` is the leaf 3 of document a."""
    span = Span(name[0], V, int(name[1:]), int(name[1:]), (int(name[1:]), 0))
    return Candidate(span, score, Trace(), {}, words=words)


def shown(runs) -> list[tuple[str, int, int]]:
    return [(run.span.document_id, run.span.first, run.span.last) for run in runs]


def runs_of(hits, budget, *, max_words=None, run_cost=0.0):
    """The runs, and behind them the rest."""
    runs, others = runs_within_budget(hits, budget, max_words=max_words, run_cost=run_cost)
    assert not others or runs
    return runs + others


def test_the_best_leaves_come_as_runs_where_they_touch_and_the_rest_behind_them():
    hits = [leaf("a0", 0.5), leaf("b7", 0.4), leaf("a1", 0.3), leaf("b2", 0.1)]
    assert shown(runs_of(hits, 30)) == [("a", 0, 1), ("b", 7, 7), ("b", 2, 2)]


def test_a_small_gap_is_bridged_where_a_second_run_would_cost_more():
    hits = [leaf("a0", 0.5), leaf("a1", 0.01, words=5), leaf("a2", 0.5), leaf("b0", 0.2), leaf("c0", 0.05)]
    assert shown(runs_of(hits, 25, run_cost=20))[0] == ("a", 0, 2)
    assert shown(runs_of(hits, 20, run_cost=20))[:2] == [("a", 0, 0), ("a", 2, 2)]  # the gap itself would not fit


def test_a_small_gap_that_the_base_did_not_return_is_bridged_too():
    hits = [leaf("a0", 0.5), leaf("a2", 0.5), leaf("b0", 0.2), leaf("c0", 0.05)]
    between = [leaf("a1", 0.9, words=5)]
    runs, others = runs_within_budget(hits, 25, max_words=None, run_cost=20, between=between)
    assert shown(runs) == [("a", 0, 2)]
    assert (runs[0].score, runs[0].words) == (0.5, 10 + 5 + 10)  # its own score does not count
    assert runs[0].trace.explain()[-2:] == [
        "leaf 1 filled the gap between two hits (score 0.000)",
        "3 results that overlap or touch became one: leaves 0 to 2",
    ]
    assert shown(others) == [("b", 0, 0), ("c", 0, 0)]
    runs, others = runs_within_budget(hits, 25, max_words=None, run_cost=0.0, between=between)
    assert shown(runs + others) == [("a", 0, 0), ("a", 2, 2), ("b", 0, 0), ("c", 0, 0)]


@pytest.mark.parametrize(
    "base",
    [Vector(), BM25(), Hybrid(), MultiQuery(phrasings=["honey"])],
    ids=lambda base: type(base).__name__,
)
def test_gaps_are_bridged_over_every_base(shared_index: Index, base):
    @dataclass(frozen=True)
    class EveryOther(Strategy):
        """What the base finds without the odd leaves of one document, which is by far the most relevant one."""

        def retrieve(self, queries, context):
            rows = yield from base.retrieve(queries, context)
            return [
                [
                    replace(found, score=1.0 if found.span.document_id == "bees" else 0.001)
                    for found in row
                    if found.span.document_id != "bees" or found.span.first % 2 == 0
                ]
                for row in rows
            ]

    words = TEXTS["bees"] + TEXTS["tea"]
    first = shared_index.retrieve(words, RelevantSegments(base=EveryOther()), budget=400)[0]
    gaps = [gap.first for gap in first.trace.filled]
    assert gaps
    assert gaps == [ordinal for ordinal in gaps if ordinal % 2]


def test_the_order_of_the_hits_does_not_matter():
    text = [leaf("a0", 0.5), leaf("a1", 0.01, words=5), leaf("a2", 0.5), leaf("b0", 0.2), leaf("c0", 0.05)]
    best_first = sorted(text, key=lambda hit: hit.order)
    assert shown(best_first) == [("a", 0, 0), ("a", 2, 2), ("b", 0, 0), ("c", 0, 0), ("a", 1, 1)]
    for hits in (text, best_first, best_first[::-1]):
        runs, others = runs_within_budget(hits, 25, max_words=None, run_cost=20)
        assert shown(runs) == [("a", 0, 2)]  # one run of 10 + 5 + 10 words, over the gap
        assert shown(others) == [("b", 0, 0), ("c", 0, 0)]


def test_a_run_is_no_longer_than_it_may_be():
    hits = [leaf(f"a{n}", 0.5 - n / 100) for n in range(6)]
    runs = runs_of(hits, 20, max_words=20)
    assert shown(runs)[0] == ("a", 0, 1)


def test_runs_that_touch_are_not_united_to_one_that_is_longer_than_it_may_be():
    hits = [leaf(f"a{n}", 0.5 - n / 100) for n in range(6)]
    runs, others = runs_within_budget(hits, 1000, max_words=25, run_cost=0.0)  # six leaves of ten words each
    assert (shown(runs), others) == ([("a", 0, 1), ("a", 2, 3), ("a", 4, 5)], [])
    assert [(run.score, run.words) for run in runs] == [(0.5, 20), (0.48, 20), (0.46, 20)]


def test_what_fills_the_budget_joins_a_run_where_both_are_no_longer_than_it_may_be():
    hits = [leaf("a0", 0.5), leaf("a1", 0.01), leaf("a2", 0.4), leaf("a3", 0.3), leaf("b0", 0.001, words=50)]
    assert shown(runs_within_budget(hits, 40, max_words=20, run_cost=0.0)[0]) == [("a", 0, 1), ("a", 2, 3)]
    assert shown(runs_within_budget(hits, 40, max_words=30, run_cost=0.0)[0]) == [("a", 0, 2), ("a", 3, 3)]
    assert shown(runs_within_budget(hits, 40, max_words=40, run_cost=0.0)[0]) == [("a", 0, 3)]


def test_a_leaf_that_is_longer_than_a_run_may_be_stands_alone():
    hits = [leaf("a0", 0.5, words=3), leaf("a1", 0.9, words=30), leaf("a2", 0.5, words=3)]
    assert shown(runs_of(hits, 100, max_words=20)) == [("a", 1, 1), ("a", 0, 0), ("a", 2, 2)]


def test_at_least_the_best_leaf_comes_back():
    assert shown(runs_of([leaf("a0", 0.2, words=90), leaf("b0", 0.5, words=80)], 10)) == [("b", 0, 0), ("a", 0, 0)]


def test_nothing_gives_nothing():
    assert runs_of([], 100) == []


def test_a_run_has_the_score_of_its_best_leaf_and_the_words_of_all():
    (run,) = runs_of([leaf("a0", 0.2, words=7), leaf("a1", 0.6, words=8)], 100)
    assert (run.score, run.words) == (0.6, 15)


hits_lists = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 20), st.integers(0, 30)),
    unique_by=lambda each: each[:2],
    max_size=20,
).map(lambda rows: [leaf(f"{d}{n}", score / 20, words) for d, n, score, words in rows])


@examples(300)
@given(hits_lists, st.integers(1, 200), st.sampled_from([None, 25, 60]), st.sampled_from([0.0, 20.0]))
def test_no_leaf_is_lost_or_twice_and_runs_fit_the_budget(hits, budget, max_words, run_cost):
    runs = runs_of(hits, budget, max_words=max_words, run_cost=run_cost)
    leaves = [(run.span.document_id, n) for run in runs for n in range(run.span.first, run.span.last + 1)]
    assert sorted(leaves) == sorted((hit.span.document_id, hit.span.first) for hit in hits)
    joined = [run.words or 0 for run in runs if run.span.first < run.span.last]
    assert sum(joined) <= budget
    assert all(words <= (max_words or budget) for words in joined)
    length = {(hit.span.document_id, hit.span.first): hit.words for hit in hits}
    for run in runs:
        assert run.words == sum(length[run.span.document_id, n] for n in range(run.span.first, run.span.last + 1))


@examples(200)
@given(hits_lists, st.integers(1, 200))
def test_the_scale_of_the_scores_does_not_matter(hits, budget):
    scaled = [leaf(f"{hit.span.document_id}{hit.span.first}", hit.score * 4, hit.words) for hit in hits]
    assert shown(runs_of(scaled, budget, run_cost=20)) == shown(runs_of(hits, budget, run_cost=20))


def test_it_keeps_to_the_budget_of_the_call(index: Index):
    for budget in (20, 60, 120):
        passages = index.retrieve(QUESTIONS[0], RelevantSegments(), budget=budget)
        assert len(passages) == 1 or sum(len(passage.text.split()) for passage in passages) <= budget


@pytest.mark.parametrize(("max_words", "limits"), [(300, {"budget": 3000}), (50, {"budget": 600}), (100, {"budget": 900})])
def test_no_passage_is_longer_than_a_run_may_be_with_any_budget(wikipedia: Index, max_words, limits):
    passages = wikipedia.retrieve("steam engine", RelevantSegments(max_words=max_words), **limits)
    lengths = [len(passage.text.split()) for passage in passages]
    assert max(lengths) <= max_words
    assert sum(lengths) > 0.8 * limits.get("budget", 0)
    starts = {(passage.document_id, passage.start) for passage in passages}
    assert any((passage.document_id, passage.end) in starts for passage in passages)  # some touch, and are apart


def test_it_looks_at_more_candidates_than_others_unless_the_call_says_how_many(wikipedia: Index):
    default = wikipedia.retrieve("steam engine")
    asked = 24 + 5 * 75 // 15
    assert wikipedia.retrieve("steam engine", candidates=asked) == default
    assert wikipedia.retrieve("steam engine", candidates=2) != default
    [only] = wikipedia.retrieve("steam engine", candidates=1)
    assert only.start == wikipedia.retrieve("steam engine", Hybrid(), k=1)[0].start


def test_without_a_budget_k_passages_come_back(index: Index):
    assert [len(index.retrieve(QUESTIONS[0], RelevantSegments(passage_words=15), k=k)) for k in (1, 3)] == [1, 3]


def test_any_strategy_that_finds_leaves_can_be_the_base(index: Index):
    found = index.retrieve(QUESTIONS[0], RelevantSegments(base=Vector()), budget=40)
    assert found
    assert {hit.source for passage in found for hit in passage.trace.hits} == {"vector"}


def test_at_the_scores_of_hybrid_runs_hold_what_it_finds(index: Index):
    best = index.retrieve(QUESTIONS[0], Hybrid(), k=1)[0]
    run = index.retrieve(QUESTIONS[0], RelevantSegments(), budget=60)[0]
    assert run.start <= best.start < best.end <= run.end


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 0}, "words must be a whole number >= 1, got 0"),
        ({"max_words": 0}, "max_words must be a whole number >= 1, got 0"),
        ({"passage_words": 2.5}, "passage_words must be a whole number >= 1, got 2.5"),
        ({"run_cost": -1}, "run_cost must be a number >= 0, got -1"),
        ({"base": RelevantSegments()}, "base must be a strategy that finds single leaves"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        RelevantSegments(**options)


def test_gaps_are_bridged_over_the_scores_of_bm25_which_lie_close_together(tmp_path):
    sentences = [f"The {'filler' if n % 2 else 'zebra'} number {n} walks over the wide plain today. " for n in range(25)]
    splitter = HierarchicalSplitter(leaf_words=10, parent_words=(60,))
    with Index.open(tmp_path / "kb", splitter=splitter) as index:
        index.add([Document("plain", "".join(sentences)), Document("other", "Here is another animal.")])
        thirteen = RelevantSegments(base=BM25())
        assert len({hit.score for hit in index.retrieve("zebra", BM25(), k=20)}) == 1
        (run,) = index.retrieve("zebra", thirteen, k=5)  # 5 * 75 words; all leaves take 25 * 10 of them
        assert (run.start, run.end) == (0, len("".join(sentences)))
        first, second = index.retrieve("zebra", thirteen, budget=80)  # 7 * 10 words, and a hit of 10
        assert first.text.split() == "".join(sentences[:7]).split()
        assert second.text.split() == sentences[8].split()
