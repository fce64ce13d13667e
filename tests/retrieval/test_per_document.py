"""The largest number of passages of one document."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ext import HybridRetriever as OfLangChain
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Config,
    Document,
    Ensemble,
    F,
    Hybrid,
    Index,
    InvalidArgument,
    RelevantSegments,
    SentenceWindow,
    Vector,
)
from leafspan.lab import explain
from llamaindex_ext import HybridRetriever as OfLlamaIndex
from tests.profiles import examples

QUESTION = "When does the ferry leave?"
STRATEGIES = [
    BM25(),
    Vector(),
    Hybrid(),
    RelevantSegments(),
    SentenceWindow(),
    AutoMerging(),
    Ensemble(retrievers=[BM25(), Vector()]),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("ferries") / "kb") as opened:
        # Fifty paragraphs of one document say more of it than any other document does.
        paragraphs = [
            f"The ferry number {n} leaves at {n} o'clock. " + "It carries cars and bicycles. " * 8 for n in range(50)
        ]
        opened.add(Document("timetable", "\n\n".join(paragraphs), metadata={"kind": "timetable"}))
        opened.add([Document(f"note {n}", f"On day {n} the ferry was late.") for n in range(8)])
        yield opened


def of_each(found):
    return Counter(each.document_id for each in found)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("most", [1, 2])
def test_no_document_gives_more_and_others_come_in_its_place(index, strategy, most):
    found = index.retrieve(QUESTION, strategy, k=6, per_document=most)
    assert max(of_each(found).values()) <= most
    assert len(found) == 6
    if isinstance(strategy, BM25 | Hybrid):
        assert of_each(index.retrieve(QUESTION, strategy, k=6))["timetable"] > most


@examples(30)
@given(st.sampled_from(STRATEGIES), st.integers(1, 12), st.integers(1, 4), st.none() | st.integers(20, 400))
def test_it_is_the_longer_list_without_what_is_too_much(index, strategy, k, most, budget):
    found = index.retrieve(QUESTION, strategy, k=k, budget=budget, per_document=most)
    assert max(of_each(found).values(), default=0) <= most
    assert len(found) <= k
    scores = [each.score for each in found]
    if not isinstance(strategy, RelevantSegments):
        assert scores == sorted(scores, reverse=True)


def test_leaves_come_from_a_list_that_is_long_enough(index):
    for strategy in (BM25(), Vector(), Hybrid()):
        every = index.retrieve(QUESTION, strategy, k=200)
        expected, seen = [], Counter()
        for each in every:
            if seen[each.document_id] < 2:
                expected.append(each.id)
                seen[each.document_id] += 1
        assert [each.id for each in index.retrieve(QUESTION, strategy, k=5, per_document=2)] == expected[:5]


def test_candidates_of_the_call_are_never_exceeded(index):
    assert len(index.retrieve(QUESTION, BM25(), k=6, candidates=6, per_document=1)) <= 6
    assert len(index.retrieve(None, Browse(), per_document=1)) == 9


def test_it_holds_beside_filters_and_configurations(index, tmp_path):
    found = index.retrieve(QUESTION, Hybrid(), k=3, per_document=1, where=F("kind") == "timetable")
    assert [each.document_id for each in found] == ["timetable"]
    with Index.open(tmp_path / "kb", config=Config(per_document=1)) as configured:
        configured.add(index.get("timetable"))
        configured.add(Document("note", "The ferry leaves."))
        assert len(configured.retrieve(QUESTION, BM25())) == 2
        assert len(configured.retrieve(QUESTION, BM25(), per_document=3)) == 4


async def test_both_hosts_and_other_indexes_have_it(index):
    for retriever in (OfLangChain(index, k=4, per_document=1), OfLlamaIndex(index, similarity_top_k=4, per_document=1)):
        for found in (
            retriever.invoke(QUESTION) if hasattr(retriever, "invoke") else retriever.retrieve(QUESTION),
            await (retriever.ainvoke(QUESTION) if hasattr(retriever, "ainvoke") else retriever.aretrieve(QUESTION)),
        ):
            assert len({each.metadata["doc_id"] for each in found}) == len(found) == 4
    elsewhere = index.as_strategy(BM25(), per_document=1)
    assert len({each.metadata["doc_id"] for each in index.retrieve(QUESTION, elsewhere, k=4)}) == 4


def test_an_explanation_says_where_it_cuts(index):
    every = index.retrieve(QUESTION, BM25(), k=60)
    third = [each for each in every if each.document_id == "timetable"][2]
    where = {"document_id": "timetable", "start": third.start, "end": third.end}
    why = explain(index, QUESTION, BM25(), k=20, per_document=2, **where)
    assert [(each.kind, each.value) for each in why.obstacles] == [("per_document", 2)]
    assert why.changes == {"per_document": 3}
    assert "only the 2 best passages of its document are returned: per_document=3 lets it in" in str(why)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_it_is_a_whole_number(index, wrong):
    with pytest.raises(InvalidArgument, match="per_document must be a whole number >= 1, got "):
        index.retrieve(QUESTION, per_document=wrong)
    with pytest.raises(InvalidArgument, match="per_document"):
        Config(per_document=wrong)
    with pytest.raises(ValueError, match="per_document"):
        OfLangChain(index, per_document=wrong)
    with pytest.raises(InvalidArgument, match="per_document"):
        OfLlamaIndex(index, per_document=wrong)
