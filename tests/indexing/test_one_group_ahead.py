"""While a group of documents is written, only the next group is read, split and embedded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromadb.api.models.Collection import Collection as ChromaCollection

from leafspan import Document, Index, StorageFailed
from leafspan.errors import FunctionFailed
from leafspan.splitting import Cut

PATIENCE = 60  # seconds


def documents(count: int) -> list[Document]:
    """Documents of one leaf each; a group has two of them."""
    return [Document(f"d{number}", f"Document {number}.") for number in range(count)]


class Embedding:
    """An embedder that notes what it embeds, and does something else first.

    Attributes:
        texts: The texts that were embedded so far, without the probe.
        before: Function to call with the texts of a batch before they are embedded.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.before: Callable[[list[str]], None] = lambda texts: None

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if texts[0].startswith("Document"):
            self.before(texts)
            self.texts += texts
        return [[1.0, len(text)] for text in texts]


@pytest.fixture
def embedding() -> Embedding:
    return Embedding()


@pytest.fixture
def index(tmp_path: Path, embedding: Embedding, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index.open(tmp_path / "kb", embedder=embedding, embedding_cache=False, timeout=5) as opened:
        opened.add(Document("before", "Another text, so that the embedder is recorded."))
        monkeypatch.setattr(opened._store, "batch", 2)
        yield opened


@pytest.fixture
def on_adding(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[list[str]], None]], None]:
    """A function that has another one called with the ids of leaves right before Chroma adds them."""
    original = ChromaCollection.add

    def call(before: Callable[[list[str]], None]) -> None:
        def add(self: ChromaCollection, *, ids: list[str], **columns: Any) -> None:
            before([id_.partition("#")[0] for id_ in ids])
            original(self, ids=ids, **columns)

        monkeypatch.setattr(ChromaCollection, "add", add)

    return call


def adding(index: Index, how: str) -> Callable[[Any], Any]:
    """The method that adds, blocking."""
    return index.add if how == "add" else lambda given: asyncio.run(index.aadd(given))


both_ways = pytest.mark.parametrize("how", ["add", "aadd"])


@both_ways
def test_a_group_is_embedded_while_the_one_before_is_written(index: Index, embedding: Embedding, on_adding, how: str):
    embedded = threading.Event()
    embedding.before = lambda texts: embedded.set() if texts[0] == "Document 2." else None

    def wait(ids: list[str]) -> None:
        if ids == ["d0", "d1"]:
            assert embedded.wait(PATIENCE), "the second group is embedded only after the first one was written"

    on_adding(wait)
    assert adding(index, how)(documents(5)).added == ("d0", "d1", "d2", "d3", "d4")
    assert {document.id for document in index.documents()} == {"before", "d0", "d1", "d2", "d3", "d4"}
    assert embedding.texts == [document.text for document in documents(5)]


@both_ways
def test_no_more_than_one_group_is_embedded_ahead(index: Index, embedding: Embedding, on_adding, how: str):
    begun: list[str] = []
    written: list[str] = []
    on_adding(written.extend)
    # When a group is embedded, the last one but one has been written.
    embedding.before = lambda texts: begun.append(f"{texts[0]} after {sorted(written)[:2]}" if len(begun) == 2 else "")
    adding(index, how)(iter(documents(6)))
    assert begun[2] == "Document 4. after ['d0', 'd1']"


@both_ways
def test_nothing_of_later_groups_is_written_after_a_failure(index: Index, embedding: Embedding, on_adding, how: str):
    failed = threading.Event()
    begun = threading.Event()
    written: list[str] = []

    def fail(ids: list[str]) -> None:
        if ids == ["d2", "d3"]:
            begun.wait(PATIENCE)  # the third group is being embedded
            failed.set()
            raise OSError("the disk is gone")
        written.extend(ids)

    embedding.before = lambda texts: begun.set() if texts[0] == "Document 4." else None
    on_adding(fail)
    with pytest.raises(StorageFailed, match="the disk is gone") as caught:
        adding(index, how)(documents(9))
    assert failed.is_set()
    assert caught.value.__notes__ == ["stored 2 of 9 documents; add the same again to go on"]
    assert written == ["d0", "d1"]
    assert "Document 6." not in embedding.texts
    on_adding(lambda ids: None)
    assert set(adding(index, how)(documents(9)).added) == {f"d{number}" for number in range(2, 9)}
    assert index.repair() == []


@both_ways
def test_what_was_being_written_is_stored_when_the_next_group_fails(
    index: Index, embedding: Embedding, on_adding, how: str
):
    failed = threading.Event()

    def fail(texts: list[str]) -> None:
        if texts[0] == "Document 2.":
            failed.set()
            raise ValueError("no")

    embedding.before = fail
    on_adding(lambda ids: None if failed.wait(PATIENCE) else pytest.fail("the next group was not embedded meanwhile"))
    with pytest.raises(FunctionFailed, match="ValueError: no") as caught:
        adding(index, how)(documents(5))
    assert caught.value.__notes__ == ["stored 2 of 5 documents; add the same again to go on"]
    assert {document.id for document in index.documents()} == {"before", "d0", "d1"}


@both_ways
def test_if_both_fail_the_error_is_the_one_of_the_earlier_documents(
    index: Index, embedding: Embedding, on_adding, how: str
):
    failed = threading.Event()

    def fail(texts: list[str]) -> None:
        if texts[0] == "Document 2.":
            failed.set()
            raise ValueError("no")

    def fail_later(ids: list[str]) -> None:
        failed.wait(PATIENCE)
        raise OSError("the disk is gone")

    embedding.before = fail
    on_adding(fail_later)
    with pytest.raises(StorageFailed, match="the disk is gone"):
        adding(index, how)(documents(5))


def test_an_interruption_waits_for_what_is_being_written(index: Index, embedding: Embedding, on_adding):
    interrupted = threading.Event()

    def interrupt(texts: list[str]) -> None:
        if texts[0] == "Document 2.":
            interrupted.set()
            raise KeyboardInterrupt

    embedding.before = interrupt
    on_adding(lambda ids: None if interrupted.wait(PATIENCE) else pytest.fail("the next group was not embedded meanwhile"))
    with pytest.raises(KeyboardInterrupt) as caught:
        index.add(documents(5))
    assert caught.value.__notes__ == ["stored 2 of 5 documents; add the same again to go on"]
    assert {document.id for document in index.documents()} == {"before", "d0", "d1"}
    embedding.before = lambda texts: None
    assert set(index.add(documents(5)).added) == {"d2", "d3", "d4"}


@pytest.mark.parametrize("following", ["is embedded", "is being embedded"])
async def test_a_cancelled_task_holds_no_lock_when_it_has_ended(
    index: Index, embedding: Embedding, on_adding, following: str
):
    begun, embedding_begun, cancelled = threading.Event(), threading.Event(), threading.Event()

    def wait(ids: list[str]) -> None:
        begun.set()
        cancelled.wait(PATIENCE)

    def embed(texts: list[str]) -> None:
        if texts[0] == "Document 2.":
            embedding_begun.set()
            if following == "is being embedded":
                cancelled.wait(PATIENCE)

    on_adding(wait)
    embedding.before = embed
    async with asyncio.timeout(PATIENCE):
        task = asyncio.create_task(index.aadd(documents(5)))
        await asyncio.to_thread(begun.wait, PATIENCE)
        await asyncio.to_thread(embedding_begun.wait, PATIENCE)
        task.cancel()
        asyncio.get_running_loop().call_later(0.05, cancelled.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cancelled.is_set()
        writer_lock = index._store._folder.writer_lock()
        assert writer_lock.try_acquire()
        writer_lock.release()
        on_adding(lambda ids: None)
        await index.aadd(documents(5))
    assert index.count() == 6
    assert index.repair() == []


def test_documents_are_read_split_and_embedded_in_the_thread_of_the_caller(tmp_path: Path, monkeypatch):
    threads: set[int] = set()

    def given() -> Iterator[Document]:
        for document in documents(6):
            threads.add(threading.get_ident())
            yield document

    def whole(text: str) -> list[Cut]:
        threads.add(threading.get_ident())
        return [Cut(len(text), 0)]

    def embed(texts: list[str]) -> list[list[float]]:
        threads.add(threading.get_ident())
        return [[1.0, 0.5]] * len(texts)

    with Index.open(tmp_path / "kb", embedder=embed, splitter=whole, embedding_cache=False) as index:
        monkeypatch.setattr(index._store, "batch", 2)
        index.add(given())
        assert index.count() == 6
    assert threads == {threading.get_ident()}
