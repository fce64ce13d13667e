"""Another index as a strategy: ``View.as_strategy``."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import leafspan
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Budget,
    Document,
    Ensemble,
    F,
    FollowReferences,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    Router,
    SentenceWindow,
    Tree,
    Vector,
)
from leafspan.strategies import OtherIndex
from tests.corpus import QUESTIONS

HERE = [
    Document("tea", "Boiled tea is bitter, says this house.", "Tea of the house", {"topic": "food", "tenant": "a"}),
    Document("index", "All about bees is elsewhere.", None, {"reference": "corpus", "topic": "animals", "tenant": "a"}),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index that also has a document called tea."""
    with Index.open(tmp_path_factory.mktemp("here") / "kb") as opened:
        opened.add(HERE)
        yield opened


def plain(passages):
    return [(each.id, each.score, each.text) for each in passages]


def test_what_is_found_there_keeps_its_id_text_and_score_and_is_cited_by_its_metadata(here: Index, shared_index: Index):
    there = shared_index.retrieve(QUESTIONS[0], AutoMerging(), k=3)
    found = here.retrieve(QUESTIONS[0], shared_index.as_strategy(AutoMerging()), k=3)
    assert plain(found) == plain(there)
    for each, own in zip(found, there, strict=True):
        assert (each.document_id, each.start, each.end, each.kind, each.title) == ("", None, None, "text", own.title)
        place = {"doc_id": own.document_id, "start": own.start, "end": own.end, "title": own.title}
        assert {**each.metadata, **own.metadata, **place} == each.metadata
        assert each.trace.explain() == [*own.trace.explain(), "found in another index"]


def test_it_needs_no_index_of_its_own(shared_index: Index):
    expected = [plain(row) for row in shared_index.retrieve_many(QUESTIONS, Hybrid(), k=2)]
    strategy = shared_index.as_strategy(Hybrid())
    assert [plain(row) for row in leafspan.retrieve_many(QUESTIONS, strategy, k=2)] == expected
    assert [plain(row) for row in asyncio.run(leafspan.aretrieve_many(QUESTIONS, strategy, k=2))] == expected


@pytest.mark.usefixtures("leaves_from_chroma")
def test_all_queries_are_searched_there_at_once(here: Index, shared_index: Index, calls: Counter):
    calls.clear()
    here.retrieve_many(QUESTIONS, shared_index.as_strategy(Vector()))
    assert +calls == {("kb.leaves", "get"): 1}


def test_documents_of_one_id_in_both_are_different_ones(here: Index, shared_index: Index):
    both = Ensemble(retrievers=[Vector(), shared_index.as_strategy(Vector())])
    found = here.retrieve("How hot is tea?", both, k=4)
    assert {(each.document_id, each.metadata.get("doc_id")) for each in found} >= {("tea", None), ("", "tea")}


def test_the_filter_of_the_call_holds_there_too_and_beside_its_own(here: Index, shared_index: Index):
    strategy = shared_index.as_strategy(Vector(), where=F("doc_id") != "harbour")
    assert {each.metadata["doc_id"] for each in here.retrieve("tea", strategy, k=50)} == {"bees", "tea"}
    found = here.retrieve("tea", strategy, k=50, where=F("topic") == "animals")
    assert {each.metadata["doc_id"] for each in found} == {"bees"}


def test_its_own_options_hold_for_what_is_found_there(here: Index, shared_index: Index):
    assert len(here.retrieve(QUESTIONS[0], shared_index.as_strategy(Vector(), k=2), k=9)) == 2
    assert len(here.retrieve(QUESTIONS[0], shared_index.as_strategy(Vector(), k=2))) == 2
    assert len(here.retrieve(QUESTIONS[0], shared_index.as_strategy(Vector(), k=9), k=2)) == 2
    assert len(here.retrieve(QUESTIONS[0], shared_index.as_strategy(Vector(), candidates=3), k=9)) == 3
    low = shared_index.as_strategy(Vector(), min_score=0.4)
    assert min(each.score for each in here.retrieve(QUESTIONS[0], low, k=50)) >= 0.4
    short = here.retrieve(QUESTIONS[0], shared_index.as_strategy(Vector(), budget=Budget(30)), k=50)
    assert sum(len(each.text.split()) for each in short) <= 30


def test_as_many_candidates_are_looked_at_there_as_the_call_names(here: Index, shared_index: Index):
    few = here.retrieve(QUESTIONS[0], shared_index.as_strategy(Vector()), k=9, candidates=4)
    assert plain(few) == plain(shared_index.retrieve(QUESTIONS[0], Vector(), k=4))


def test_a_budget_is_filled_from_there(here: Index, shared_index: Index):
    found = here.retrieve(QUESTIONS[0], shared_index.as_strategy(Vector()), budget=100)
    assert 85 < sum(len(each.text.split()) for each in found) <= 100


def test_a_view_of_the_other_shows_nothing_else(here: Index, shared_index: Index):
    strategy = shared_index.scoped(F("topic") == "food").as_strategy()
    found = here.retrieve(QUESTIONS[0], strategy, k=50)
    assert {each.metadata["doc_id"] for each in found} == {"tea"}


def test_a_view_that_asks_shows_what_matches_its_own_filter(here: Index, shared_index: Index):
    strategy = shared_index.as_strategy(Vector())
    found = here.scoped(F("topic") == "food").retrieve_many([QUESTIONS[0], "tea"], strategy, k=50)
    assert [{each.metadata["doc_id"] for each in row} for row in found] == [{"tea"}, {"tea"}]
    assert here.scoped(F("tenant") == "a").retrieve(QUESTIONS[0], strategy) == []


def test_it_can_be_referred_to_chosen_and_asked_in_several_phrasings(here: Index, shared_index: Index):
    other = shared_index.as_strategy(Vector(), k=1)
    question = QUESTIONS[0]
    [expected] = plain(shared_index.retrieve(question, Vector(), k=1))
    base = leafspan.strategies.filtered(Vector(), F("doc_id") == "index")
    [found] = here.retrieve(question, FollowReferences(base=base, targets={"corpus": other}))
    assert (found.id, found.text) == (expected[0], expected[2])
    [found] = here.retrieve(question, Router(retrievers={"here": BM25(), "there": other}, choose=lambda _: "there"))
    assert plain([found]) == [expected]
    [found, *_] = here.retrieve(question, MultiQuery(base=other, phrasings=[question + " "]))
    assert found.id == expected[0]


def test_summaries_of_there_are_passages_too(here: Index, tmp_path: Path):
    with Index.open(tmp_path / "kb") as other:
        other.add(Document("a", "Bees dance. Bees eat honey. Bees sleep. " * 20))
        other.build_tree()
        found = here.retrieve("bees", other.as_strategy(Tree(mode="traversal")), k=3)
        assert found[0].kind == "summary"
        assert found[0].metadata["layer"] >= 1
        assert found[0].summary is None


def test_nothing_can_merge_or_widen_what_is_found_there(shared_index: Index):
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        SentenceWindow(base=shared_index.as_strategy(Vector()))


def test_no_question_is_needed_where_none_is_needed_there(here: Index, shared_index: Index):
    found = here.retrieve(None, shared_index.as_strategy(Browse()), k=3)
    assert [each.id for each in found] == [each.id for each in shared_index.retrieve(None, Browse(), k=3)]
    everything = here.retrieve(None, shared_index.as_strategy(Browse()))
    assert len(everything) == shared_index.stats().leaves


def test_an_empty_one_finds_nothing(here: Index, tmp_path: Path):
    with Index.open(tmp_path / "kb") as empty:
        assert here.retrieve("tea", empty.as_strategy()) == []
        assert len(empty.retrieve("tea", here.as_strategy(Vector()), k=2)) == 2


def test_what_is_wrong_there_is_raised_here(here: Index, shared_index: Index):
    with pytest.raises(InvalidArgument, match="k must be a whole number >= 1, got 0"):
        shared_index.as_strategy(k=0)
    with pytest.raises(InvalidArgument, match=r"strategy must be a strategy such as Vector\(\), got 3"):
        shared_index.as_strategy(3)
    with pytest.raises(InvalidArgument, match="view must be an Index or a view of one, got 5"):
        OtherIndex(5, Vector())
    with pytest.raises(InvalidArgument, match="a query's vector must have"):
        here.retrieve([0.5, 0.5], leafspan.strategies.filtered(shared_index.as_strategy(), F("a") == 1))


def test_it_is_a_value(here: Index, shared_index: Index):
    assert (
        shared_index.as_strategy(Vector(), k=2)
        == shared_index.as_strategy(Vector(), k=2)
        != here.as_strategy(Vector(), k=2)
    )
    assert hash(shared_index.as_strategy())


def test_indexes_that_ask_each_other_at_the_same_time_do_not_wait_for_each_other_for_ever(here: Index, shared_index: Index):
    pairs = [(here, shared_index.as_strategy(Vector())), (shared_index, here.as_strategy(Vector()))] * 8
    with ThreadPoolExecutor(16) as threads:
        asked = [threads.submit(index.retrieve_many, QUESTIONS, strategy, k=1) for index, strategy in pairs]
        found = [each.result(timeout=60) for each in asked]
    assert found == found[:2] * 8


async def test_and_so_do_coroutines(here: Index, shared_index: Index):
    pairs = [(here, shared_index.as_strategy(Vector())), (shared_index, here.as_strategy(Vector()))] * 8
    found = await asyncio.gather(*(index.aretrieve_many(QUESTIONS, strategy, k=1) for index, strategy in pairs))
    assert found == found[:2] * 8
