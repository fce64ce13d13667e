"""An ``add`` that fails or is interrupted reports what is stored, leaves no partial document, and can continue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, Index
from leafspan.embedding import default_embedder
from leafspan.engines.chroma._collection import Collection
from leafspan.errors import FunctionFailed, InvalidDocument
from leafspan.store._rows_file import RowsInFile
from tests.corpus import DOCUMENTS, SPLITTER
from tests.profiles import paired

CHANGED = [Document(each.id, each.text.replace("the", "a"), each.title, each.metadata) for each in DOCUMENTS]
WRITES = 6  # of changed documents: rows, new leaves, rows; of what is left: old leaves, rows, rows of deleted documents


def notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def failing_after(texts: int, error: BaseException) -> Callable[[list[str]], Any]:
    """The default embedder, until it has embedded this many texts and the probe."""
    embedded = 0

    def embed(some: list[str]) -> Any:
        nonlocal embedded
        if embedded > texts:
            raise error
        embedded += len(some)
        return default_embedder().documents(some)

    return embed


class Writes:
    """Counts the writes of an index: of leaves, and of rows. It interrupts one of them, before or after it is made."""

    def __init__(self, patch: pytest.MonkeyPatch, write: int, *, before: bool = False) -> None:
        self.made = 0
        self._write = write
        self._before = before
        patch.setattr(Collection, "_write", self._counted(Collection._write))
        patch.setattr(RowsInFile, "put", self._counted(RowsInFile.put))
        patch.setattr(RowsInFile, "delete", self._counted(RowsInFile.delete))

    def _counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.made += 1
            number = self.made
            if number == self._write and self._before:
                raise KeyboardInterrupt
            yield from original(*arguments, **options)
            if number == self._write:
                raise KeyboardInterrupt

        return counted


def one_leaf_each(count: int) -> list[Document]:
    return [Document(f"d{n}", f"Document {n}.") for n in range(count)]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), RuntimeError("no")], ids=repr)
def test_the_error_says_how_many_documents_are_stored(tmp_path: Path, monkeypatch, error):
    with Index.open(tmp_path, embedder=failing_after(4, error), embedding_cache=False) as index:
        monkeypatch.setattr(index._store, "batch", 2)
        with pytest.raises(FunctionFailed if isinstance(error, Exception) else KeyboardInterrupt) as caught:
            index.add(one_leaf_each(7))
        assert index.count() == 4
    assert notes(caught.value) == ["stored 4 of 7 documents; add the same again to go on"]


def test_documents_that_were_there_count_as_stored(tmp_path: Path):
    error = ValueError("no")
    with Index.open(tmp_path, embedder=failing_after(3, error), embedding_cache=False) as index:
        index.add(one_leaf_each(3))
        with pytest.raises(FunctionFailed, match=r"failing_after.* failed with ValueError: no; it was given 2") as caught:
            index.add(one_leaf_each(5))
    assert notes(caught.value) == ["stored 3 of 5 documents; add the same again to go on"]


def test_the_number_of_a_generators_documents_is_not_known(tmp_path: Path):
    def generated():
        yield from one_leaf_each(1)
        raise OSError("the disk is gone")

    with Index.open(tmp_path) as index, pytest.raises(OSError, match="the disk is gone") as caught:
        index.add(generated())
    assert notes(caught.value) == ["stored 0 documents; add the same again to go on"]


def test_a_list_that_cannot_be_read_has_no_note_since_nothing_was_begun(tmp_path: Path):
    with Index.open(tmp_path) as index, pytest.raises(InvalidDocument) as caught:
        index.add([Document("a", "One."), Document("", "Two.")])
    assert notes(caught.value) == []


async def test_a_task_that_is_cancelled_says_it_too(tmp_path: Path):
    embedding = asyncio.Event()

    async def forever(texts):
        embedding.set()
        await asyncio.Event().wait()

    index = await Index.aopen(tmp_path)
    await index.aadd(DOCUMENTS[0])
    index._embedder._retrying._embedder = type(default_embedder())("stuck", None, None, forever, local=True)
    task = asyncio.create_task(index.aadd(DOCUMENTS))
    async with asyncio.timeout(60):
        await embedding.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
    assert notes(caught.value) == ["stored 1 of 3 documents; add the same again to go on"]


@pytest.mark.parametrize("write", range(1, WRITES + 1))
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_an_interruption_during_any_write_leaves_each_document_whole(index: Index, monkeypatch, write, before):
    old = {each.id: each.text for each in DOCUMENTS}
    new = {each.id: each.text for each in CHANGED}
    with monkeypatch.context() as patch:
        Writes(patch, write, before=before)
        with pytest.raises(KeyboardInterrupt) as caught:
            index.add(CHANGED)
    assert notes(caught.value) == ["stored 0 of 3 documents; add the same again to go on"]
    texts = {each.id: index.get(each.id).text for each in DOCUMENTS}
    assert texts in (old, new)
    for leaf in index.leaves():
        assert leaf.text == texts[leaf.document_id][leaf.start : leaf.end]
    index.add(CHANGED)
    assert {each.id: index.get(each.id).text for each in DOCUMENTS} == new
    assert index.repair() == []
    assert index.count() == 3


TEAM = {"team": "a"}
BEFORE = [Document(each.id, each.text, metadata=TEAM) for each in DOCUMENTS]
MEANWHILE = [Document(each.id, each.text, metadata=TEAM) for each in CHANGED]
IDS = [each.id for each in DOCUMENTS]
BACK = {
    "add": lambda index: index.add(BEFORE),
    "sync": lambda index: index.sync(BEFORE, within=TEAM),
    "scoped add": lambda index: index.scoped(TEAM).add(BEFORE),
}
AWAY = {
    "sync with nothing": lambda index: index.sync([], within=TEAM, allow_empty=True),
    "delete": lambda index: index.delete(IDS),
    "delete where": lambda index: index.delete(where=TEAM),
    "scoped delete": lambda index: index.scoped(TEAM).delete(IDS),
}


@pytest.mark.parametrize(("operation", "write"), paired([*BACK, *AWAY], range(1, WRITES + 1)))
def test_what_was_interrupted_does_not_come_back_after_what_is_done_next(tmp_path: Path, monkeypatch, operation, write):
    with Index.open(tmp_path) as index:
        index.add(BEFORE)
        with monkeypatch.context() as patch:
            Writes(patch, write)
            with pytest.raises(KeyboardInterrupt):
                index.add(MEANWHILE)
        {**BACK, **AWAY}[operation](index)
        expected = {} if operation in AWAY else {each.id: each.text for each in BEFORE}
        assert {each.id: index.get(each.id).text for each in index.documents()} == expected
        assert index.repair() == []


def test_what_is_added_again_after_an_interruption_is_what_a_fresh_index_has(tmp_path: Path, monkeypatch):
    with Index.open(tmp_path / "a", splitter=SPLITTER, embedder=failing_after(1, KeyboardInterrupt())) as index:
        monkeypatch.setattr(index._store, "batch", 20)
        with pytest.raises(KeyboardInterrupt):
            index.add(DOCUMENTS)
        assert 0 < index.count() < 3
    with (
        Index.open(tmp_path / "a", splitter=SPLITTER) as again,
        Index.open(tmp_path / "b", splitter=SPLITTER) as fresh,
    ):
        again.add(DOCUMENTS)
        fresh.add(DOCUMENTS)
        assert again.leaves() == fresh.leaves()
        found, expected = (each.retrieve("When did the old pier burn down?") for each in (again, fresh))
        assert [each.id for each in found] == [each.id for each in expected]
        assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-5)
