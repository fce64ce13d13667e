"""A search sees all of a document or nothing, while a thread of the same process deletes it leaf by leaf."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, HierarchicalSplitter, Index, Vector
from leafspan.store._collection import Collection

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


@pytest.mark.parametrize("opened_twice", [False, True])
def test_whenever_a_search_begins_and_ends_it_finds_all_leaves_or_none(
    tmp_path: Path, monkeypatch, opened_twice: bool
) -> None:
    usual = Collection.query
    with Index.open(tmp_path, splitter=SPLITTER) as index:
        index.add(Document("a", TEXT))
        writer = Index.open(tmp_path, splitter=SPLITTER) if opened_twice else index
        found = set()
        for before in range(0, 12, 2):
            index.add(Document("a", TEXT))
            for collection in index._store._folder.opened(time.monotonic() + 60).collections.values():
                collection.batch = 3  # so that the leaves go in several steps
            deletion = steps(writer._delete(["a"], None, False))
            searches = iter([before])

            def query(self: Collection, *arguments: Any, searches=searches, deletion=deletion) -> Any:
                for _ in range(next(searches, 0)):  # just before the first search in Chroma
                    next(deletion, None)
                return (yield from usual(self, *arguments))

            with monkeypatch.context() as patch:
                patch.setattr(Collection, "query", query)
                found.add(len(index.retrieve("sentence", Vector(), k=100, candidates=100)))
            result(deletion)
        assert found <= {0, 12}
        assert 12 in found
