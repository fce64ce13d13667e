"""A search sees a whole document or nothing of it, while another thread deletes it leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import Document, F, HierarchicalSplitter, Index, Vector
from leafspan.engines.chroma._collection import Collection
from leafspan.search import _vectors

SPLITTER = HierarchicalSplitter(leaf_words=8, parent_words=(16,))
TEXT = " ".join(f"Sentence number {n} of this text is here." for n in range(12))


def steps(flow: Any) -> Iterator[None]:
    """Carry out a flow, a call at a time."""
    answer, failure = None, None
    while True:
        try:
            request = flow.throw(failure) if failure else flow.send(answer)
        except StopIteration as stop:
            return stop.value
        failure = None
        try:
            answer = request.function(*request.arguments, **request.options)
        except Exception as error:
            failure = error
        yield


def result(carried_out: Iterator[None]) -> Any:
    while True:
        try:
            next(carried_out)
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("before", range(0, 14, 2))
def test_a_search_that_has_to_ask_again_finds_all_leaves_or_none(monkeypatch, before: int) -> None:
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    usual = Collection.nearest
    with Index.open(client=client, name=f"again-{before}", splitter=SPLITTER) as index:
        index.add(Document("a", TEXT))
        leaves = client.get_collection(f"again-{before}.leaves", embedding_function=None)
        (there,) = leaves.get(ids=index.leaves("a")[0].id, include=["embeddings"])["embeddings"]
        left = [f"gone#00000000#{number}" for number in range(12)]  # as a killed writer may leave them
        leaves.add(ids=left, embeddings=[there] * 12, documents=["left"] * 12)
        for collection in (index._store.leaves, index._store._manifest):
            collection.batch = 3  # so that the leaves go in several steps
        deletion = steps(index._delete(["a"], None, False))
        searches = iter([0, 0, before])  # what is left is doubted once, then too little is found, then more is asked for

        def nearest(self: Collection, *arguments: Any, **options: Any) -> Any:
            for _ in range(next(searches, 0)):
                next(deletion, None)
            return (yield from usual(self, *arguments, **options))

        with monkeypatch.context() as patch:
            patch.setattr(Collection, "nearest", nearest)
            found = len(index.retrieve("sentence", Vector(), k=12, candidates=12))
        result(deletion)
    assert found in (0, 12)


@pytest.mark.parametrize("before", range(0, 14, 2))
def test_a_filtered_search_finds_all_leaves_or_none_while_another_process_deletes_them(monkeypatch, before: int) -> None:
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    usual = Collection.nearest
    monkeypatch.setattr(_vectors, "_FEW_FETCHED", 5)  # so that Chroma searches
    with (
        Index.open(client=client, name=f"filtered-{before}", splitter=SPLITTER) as index,
        Index.open(client=client, name=f"filtered-{before}", splitter=SPLITTER) as writer,
    ):
        index.add([Document(id_, f"{id_}. {TEXT}", metadata={"group": 1 + (id_ == "c")}) for id_ in "abc"])
        for collection in (writer._store.leaves, writer._store._manifest):
            collection.batch = 3  # so that the leaves go in several steps
        deletion = steps(writer._delete(["a"], None, False))

        def search() -> list[str]:
            passages = index.retrieve("sentence", Vector(), k=10, candidates=10, where=F("group") == 1)
            return sorted(each.id for each in passages)

        first = search()
        searches = iter([before])

        def nearest(self: Collection, *arguments: Any, **options: Any) -> Any:
            for _ in range(next(searches, 0)):
                next(deletion, None)
            return (yield from usual(self, *arguments, **options))

        with monkeypatch.context() as patch:
            patch.setattr(Collection, "nearest", nearest)
            meanwhile = search()
        result(deletion)
        assert meanwhile in (first, search())
