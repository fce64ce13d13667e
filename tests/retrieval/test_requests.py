"""Answers to requests that only some strategies make."""

from __future__ import annotations

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings

from leafspan import Hybrid, Index, InvalidArgument, SentenceWindow, Strategy, Vector, retrieve
from leafspan.embedding import default_embedder
from leafspan.flows import in_thread
from leafspan.retrieval import _index_answers
from leafspan.search import _scanning
from leafspan.strategies import CallFunction, LeafId, LoadPassages, LoadVectors, RetrievalContext
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.word_trees import hits, tree


class Asking(Strategy):
    """Makes requests, keeps the answers, and finds what its base finds."""

    def __init__(self, *requests, base=None):
        self.requests = requests
        self.answers = []
        self.base = base

    @property
    def needs_query(self):
        return False

    def retrieve(self, queries, context: RetrievalContext):
        found = [[] for _ in queries]
        if self.base is not None:
            found = yield from self.base.retrieve(queries, context)
        for request in self.requests:
            self.answers.append((yield request(found) if callable(request) else request))
        return found


def answers_to(index, *requests, base=None):
    strategy = Asking(*requests, base=base)
    index.retrieve(QUESTIONS[1], strategy)
    return strategy.answers


@pytest.fixture(params=["folder", "client"])
def either(request, shared_index: Index):
    if request.param == "folder":
        yield shared_index
        return
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    with Index.open(client=client, name="requests", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        yield opened


def test_vectors_of_leaves_are_those_that_are_stored(either: Index):
    ids = ("tea#646f0146#1", "bees#a8bf019c#0", "tea#646f0146#1")
    [vectors] = answers_to(either, LoadVectors(tuple(map(LeafId.parse, ids))))
    names = [each.name for each in either.client.list_collections()]
    name = next(name for name in ("requests.leaves", "kb.leaves") if name in names)
    collection = either.client.get_collection(name, embedding_function=None)
    assert np.array_equal(vectors[0], vectors[2])
    stored = collection.get(ids=list(ids[:2]), include=["embeddings"])
    by_id = dict(zip(stored["ids"], stored["embeddings"], strict=True))
    assert np.allclose(vectors, [by_id[id_] for id_ in ids], atol=1e-6)


def test_vectors_of_nothing_are_no_rows(shared_index: Index):
    [vectors] = answers_to(shared_index, LoadVectors(()))
    assert len(vectors) == 0


def test_vectors_of_summaries_are_those_by_which_they_are_found(index: Index):
    index.build_tree()
    found = index.retrieve(QUESTIONS[1], Vector(summaries=True), k=50)
    ids = tuple(LeafId.parse(passage.id) for passage in found)
    assert any(passage.summary for passage in found)
    [vectors] = answers_to(index, LoadVectors(ids))
    [query] = default_embedder().documents([QUESTIONS[1]])
    assert vectors @ query == pytest.approx([passage.score for passage in found], abs=1e-5)


def test_passages_are_those_that_the_call_returns(index: Index):
    index.build_tree()
    for base in (SentenceWindow(), Vector(summaries=True)):
        strategy = Asking(lambda rows: LoadPassages(rows[0]), base=base)
        assert index.retrieve(QUESTIONS[1], strategy, k=50) == strategy.answers[0]


def test_without_an_index_there_are_no_passages_of_leaves():
    [leaf] = hits(tree(1), {0: 1.0})
    with pytest.raises(InvalidArgument, match="must be texts of an index, but this call has no index"):
        retrieve(None, Asking(LoadPassages([leaf])))
    with pytest.raises(InvalidArgument, match="Asking must have an index to search, but this call has no index"):
        retrieve(None, Asking(LoadVectors((LeafId("tea", "646f0146", 1),))))


@pytest.mark.parametrize(("key", "expected"), [(None, [1, 2, 3, 4]), ("same", [1, 1, 1, 1])])
def test_a_call_with_the_key_of_an_earlier_one_gets_its_answer(shared_index: Index, key, expected):
    calls = []

    def count():
        calls.append(1)
        return len(calls)

    call = CallFunction(count, key=key)
    answers = answers_to(shared_index, call, call, (call, CallFunction(count, key=key)))
    assert [*answers[:2], *answers[2]] == expected


def test_calls_of_a_tuple_beside_other_requests_are_answered_in_order(shared_index: Index):
    [mixed] = answers_to(shared_index, (CallFunction(int), LoadVectors(()), CallFunction(str, (5,))))
    assert (mixed[0], len(mixed[1]), mixed[2]) == (0, 0, "5")


def test_searches_one_after_the_other_find_what_searches_at_the_same_time_find(shared_index: Index, monkeypatch):
    one_by_one = shared_index.retrieve_many(QUESTIONS, Hybrid(), k=30)
    monkeypatch.setattr(_scanning, "_BLOCK", 256)
    monkeypatch.setattr(_scanning, "on_other_core", in_thread)
    assert shared_index.retrieve_many(QUESTIONS, Hybrid(), k=30) == one_by_one  # with vectors that another thread compares
    monkeypatch.setattr(_index_answers, "_FEW", 0)
    assert shared_index.retrieve_many(QUESTIONS, Hybrid(), k=30) == one_by_one
