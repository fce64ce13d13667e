"""A strategy for some of the documents only."""

from __future__ import annotations

import pytest

from leafspan import BM25, Browse, Ensemble, F, Hybrid, Index, InvalidArgument, ParentDocument, SentenceWindow, Vector
from leafspan.strategies import filtered
from leafspan.strategies._over_base import Filtered
from tests.corpus import QUESTIONS

FOOD = F("topic") == "food"


@pytest.mark.parametrize("base", [Vector(), BM25(), Hybrid(), SentenceWindow(), Ensemble(retrievers=[Vector(), BM25()])])
def test_it_finds_what_its_base_does_with_that_filter(shared_index: Index, base):
    question = QUESTIONS[2]
    expected = shared_index.retrieve(question, base, where=FOOD)
    assert expected
    assert shared_index.retrieve(question, Filtered(base, FOOD)) == expected


def test_the_filter_of_the_call_holds_beside_its_own(shared_index: Index):
    two = F("doc_id").in_(["bees", "tea"])
    found = shared_index.retrieve(QUESTIONS[0], Filtered(Vector(), two), where=F("year").exists(), k=50)
    assert {passage.document_id for passage in found} == {"bees"}  # harbour has a year too, and tea has no year


def test_each_leg_has_its_own(shared_index: Index):
    retrievers = [Filtered(BM25(), FOOD), Filtered(Vector(), F("topic") == "animals")]
    found = shared_index.retrieve(QUESTIONS[2], Ensemble(retrievers=retrievers), k=50)
    sources = {(passage.document_id, hit.source) for passage in found for hit in passage.trace.hits}
    assert sources == {("tea", "bm25"), ("bees", "vector")}
    assert {each.trace.filters for each in found if each.document_id == "tea"} == {(FOOD,)}
    assert "from BM25 (rank 1, weight 0.50)" in " ".join(line for passage in found for line in passage.trace.explain())


def test_it_finds_spans_and_needs_a_query_where_its_base_does(shared_index: Index):
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        SentenceWindow(base=Filtered(ParentDocument(), FOOD))
    assert {passage.document_id for passage in shared_index.retrieve("", Filtered(Browse(), FOOD))} == {"tea"}
    with pytest.raises(InvalidArgument, match="a query must be a text that is not blank"):
        shared_index.retrieve("", Filtered(BM25(), FOOD))


def test_a_filter_in_any_dialect_narrows_and_none_does_not():
    assert filtered(Vector(), {"topic": "food"}) == Filtered(Vector(), FOOD)
    assert filtered(Vector(), None) == filtered(Vector(), {}) == Vector()


def test_bad_options_are_refused():
    with pytest.raises(InvalidArgument, match="base must be a strategy such as Vector"):
        Filtered("vector", FOOD)
    with pytest.raises(InvalidArgument, match="where must be a filter made with F, got None"):
        Filtered(Vector(), None)
