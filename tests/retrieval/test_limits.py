"""How many candidates are read and how many passages are returned: candidates follow from the options."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Budget,
    Document,
    Ensemble,
    F,
    HierarchicalSplitter,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.embedding import CheckedEmbedder
from leafspan.examples import example_documents
from leafspan.search import _vectors
from leafspan.strategies import HostResult, HostRetriever
from leafspan.text import count_words

QUESTION = "How did the steam engine change the railway?"
FERRIES = 200


@pytest.fixture(scope="module")
def wikipedia(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("wikipedia") / "kb") as opened:
        opened.add(example_documents())
        opened.retrieve(QUESTION, BM25())  # so that its words are read
        yield opened


@pytest.fixture(scope="module")
def ferries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Many documents of a leaf of three words."""
    with Index.open(tmp_path_factory.mktemp("ferries") / "kb", splitter=HierarchicalSplitter(3, (6,))) as opened:
        opened.add([Document(f"{n:03}", f"The ferry {n}.", metadata={"even": n % 2 == 0}) for n in range(FERRIES)])
        opened.build_tree()
        opened.retrieve("ferry", BM25())
        yield opened


def words(passages) -> int:
    return sum(len(passage.text.split()) for passage in passages)


@pytest.mark.parametrize("strategy", [Vector(), Hybrid(), SentenceWindow(), RelevantSegments(), Browse()], ids=repr)
def test_a_large_budget_is_filled_but_for_a_leaf(wikipedia: Index, strategy: Strategy):
    longest = max(len(leaf.text.split()) for leaf in wikipedia.leaves())
    for budget in (300, 2_500):
        assert budget - longest < words(wikipedia.retrieve(QUESTION, strategy, budget=budget)) <= budget


@pytest.mark.usefixtures("leaves_from_chroma")
@pytest.mark.parametrize(
    ("strategy", "fetches"),
    [
        (Vector(), 1),
        (Hybrid(), 2),  # the leaves that soft matches compare, and what a large budget needs beside them
        (ParentDocument(), 3),
        (SentenceWindow(), 3),
        (SentenceWindow(base=Vector()), 2),
        (RelevantSegments(), 3),  # as for Hybrid, and the leaves in short gaps between them
        (Browse(), 1),
    ],
    ids=repr,
)
def test_one_search_fills_the_budget_where_leaves_are_as_usual(wikipedia: Index, calls, strategy, fetches):
    for budget in (150, 600, 1_200):
        calls.clear()
        wikipedia.retrieve(QUESTION, strategy, budget=budget)
        assert calls.keys() == {("kb.leaves", "get")}
        assert calls["kb.leaves", "get"] <= fetches


def test_where_leaves_are_short_a_second_search_is_made_but_nothing_is_embedded_or_asked_again(ferries: Index, monkeypatch):
    prompts, questions = [], []

    def generate(prompt: str) -> str:
        prompts.append(prompt)
        return "which ship"

    def ask(question: str) -> list[HostResult]:
        questions.append(question)
        return [HostResult(leaf.id, leaf.text, None) for leaf in ferries.leaves()]

    embedded = []
    queries = CheckedEmbedder.queries
    monkeypatch.setattr(CheckedEmbedder, "queries", lambda self, texts: embedded.extend(texts) or queries(self, texts))
    retrievers = [Vector(), HostRetriever("mine", ask, ask)]
    counts = []
    scan = _vectors.scan
    monkeypatch.setattr(_vectors, "scan", lambda *given: counts.append(given[-1]) or scan(*given))
    found = ferries.retrieve("ferry", MultiQuery(base=Ensemble(retrievers=retrievers), generate=generate), budget=400)
    assert words(found) == 3 * (400 // 3)
    assert counts == [24 + 400 // 30, 148]
    assert len(prompts) == 1
    assert sorted(questions) == sorted(embedded) == ["ferry", "which ship"]


def test_candidates_that_the_call_gives_are_never_exceeded(ferries: Index):
    for strategy in (Vector(), Hybrid(), Browse(), RelevantSegments(), Vector(min_score=-1)):
        assert words(ferries.retrieve("ferry", strategy, budget=400, candidates=7)) == 7 * 3


def test_the_budget_may_be_over_by_one_leaf_only(wikipedia: Index):
    for strategy in (ParentDocument(level=None), SentenceWindow(before=9, after=9), RelevantSegments(max_words=None)):
        assert 10 < words(wikipedia.retrieve(QUESTION, strategy, budget=60)) <= 60
        [leaf] = wikipedia.retrieve(QUESTION, strategy, budget=1)
        assert leaf.id in {each.id for each in wikipedia.leaves()}


def test_a_budget_in_tokens_cuts_the_first_passage_around_its_best_hit(wikipedia: Index):
    whole = wikipedia.retrieve(QUESTION, ParentDocument(level=2), k=1)[0]
    [cut] = wikipedia.retrieve(QUESTION, ParentDocument(level=2), budget=Budget(800, count=len))
    [best] = wikipedia.retrieve(QUESTION, Hybrid(), k=1)
    assert whole.start <= cut.start <= best.start < best.end <= cut.end <= whole.end
    assert len(cut.text) <= 800 < len(whole.text)
    assert cut.trace.cut is not None
    assert (cut.trace.cut.length, cut.trace.cut.whole_length) == (len(cut.text), len(whole.text))
    assert any(line.startswith("cut to the budget: leaves ") for line in cut.trace.explain())


@pytest.mark.parametrize(
    "strategy", [Vector(min_score=-1), BM25(min_score=0), Hybrid(min_score=0), Tree(min_score=0)], ids=repr
)
def test_everything_above_a_threshold_is_returned(ferries: Index, strategy: Strategy):
    assert len(ferries.retrieve("ferry", strategy)) == FERRIES
    assert len(ferries.retrieve("ferry", strategy, where=F("even") == True)) == FERRIES / 2  # noqa: E712
    assert len(ferries.retrieve("ferry", strategy, k=30)) == 30


def test_a_threshold_leaves_out_what_is_below_it(ferries: Index):
    scores = [each.score for each in ferries.retrieve("ferry 17", Vector(), k=FERRIES)]
    least = scores[50]
    found = ferries.retrieve("ferry 17", Vector(min_score=least))
    assert [each.score for each in found] == [score for score in scores if score >= least]


def test_a_filter_returns_everything_that_matches(ferries: Index):
    assert len(ferries.retrieve(None, Browse())) == FERRIES
    assert len(ferries.retrieve(None, Browse(offset=20), where=F("even") == True)) == FERRIES / 2 - 20  # noqa: E712
    assert len(ferries.retrieve(None, Browse(), k=30)) == 30
    assert len(ferries.retrieve(None, Browse(), candidates=8)) == 8
    assert words(ferries.retrieve(None, Browse(), budget=500)) == 3 * (500 // 3)


@pytest.mark.parametrize(
    "strategy", [Hybrid(), BM25(), SentenceWindow(), RelevantSegments(base=BM25(scale=True))], ids=repr
)
def test_other_queries_of_the_call_change_nothing(ferries: Index, strategy: Strategy):
    queries = ["ferry", "the 17", "nothing that is there"]
    together = ferries.retrieve_many(queries, strategy, budget=400)
    assert together == [ferries.retrieve(query, strategy, budget=400) for query in queries]


def test_only_the_k_best_hits_get_windows(wikipedia: Index):
    [window] = wikipedia.retrieve(QUESTION, SentenceWindow(before=3, after=3, max_words=None), k=1)
    [best] = wikipedia.retrieve(QUESTION, Hybrid(), k=1)
    first, last = map(int, window.id.rpartition("#")[2].split("-"))
    hit = int(best.id.rpartition("#")[2])
    assert (first, last) == (max(0, hit - 3), hit + 3)


@pytest.mark.parametrize("limits", [{"k": 12}, {"budget": 900}, {}])
def test_no_window_is_longer_than_it_may_be(wikipedia: Index, limits):
    passages = wikipedia.retrieve(QUESTION, SentenceWindow(before=4, after=4, max_words=70), **limits)
    assert max(len(passage.text.split()) for passage in passages) <= 70
    places = [(each.document_id, place) for each in passages for place in range(each.start, each.end)]
    assert len(places) == len(set(places))
    assert any("the window is cut, since more neighbours do not fit" in each.trace.notes for each in passages)


def test_a_summary_that_is_passed_over_makes_room_for_the_next_result(ferries: Index):
    shortest = min(len(each.text) for each in ferries.leaves())
    for strategy in (Tree(base=Vector()), Vector(summaries=True), Hybrid(summaries=True)):
        [leaf] = ferries.retrieve("ferry", strategy, k=1, budget=Budget(shortest + 2, count=len))
        assert leaf.summary is None


def test_the_first_passage_that_does_not_fit_is_cut_to_what_does(wikipedia: Index):
    for strategy in (ParentDocument(level=2), AutoMerging(threshold=0), RelevantSegments(), SentenceWindow(after=3)):
        for budget in (300, Budget(1_000, count=lambda text: len(text) // 3)):
            passages = wikipedia.retrieve(QUESTION, strategy, budget=budget)
            limit, count = (300, count_words) if isinstance(budget, int) else (budget.limit, budget.count)
            assert 0.8 * limit < sum(count(passage.text) for passage in passages) <= limit


@pytest.mark.parametrize("length", [[1, 2], -1, 1.5, None])
def test_a_counter_that_counts_nothing_is_refused(ferries: Index, length):
    with pytest.raises(
        InvalidArgument, match=r"count of the budget, .* must return a whole number >= 0 .*; it was given '.*[Ff]err"
    ):
        ferries.retrieve("ferry", budget=Budget(10, count=lambda text: length))
