"""A task that is cancelled, even twice, does not leave the lock held."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from leafspan import Document, Index
from leafspan.flows import run
from leafspan.store import Reader


async def test_a_task_cancelled_twice_while_it_waits_gives_the_lock_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    index = Index.open(tmp_path / "kb", timeout=20)
    index.add(Document("a", "One."))
    loop = asyncio.get_running_loop()
    waiting = asyncio.Event()
    folder = index._store._folder
    original = folder.try_writing

    def announced(*given, **options):
        loop.call_soon_threadsafe(waiting.set)
        return original(*given, **options)

    holder = run(index._store.start_writing(5, None))
    monkeypatch.setattr(folder, "try_writing", announced)
    task = asyncio.create_task(index.aadd(Document("b", "Two.")))
    await asyncio.wait_for(waiting.wait(), 20)
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    holder.stop()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert Index.open(tmp_path / "kb", timeout=20).delete(["a"]) == ["a"]


@pytest.mark.usefixtures("leaves_from_chroma")
def test_leaves_of_a_document_replaced_meanwhile_match_the_new_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "Old text."))
        fetch = Reader.fetch_leaves

        def late(self, ids):
            monkeypatch.setattr(Reader, "fetch_leaves", fetch)
            index.add(Document("a", "New text."))
            return fetch(self, ids)

        monkeypatch.setattr(Reader, "fetch_leaves", late)
        assert [leaf.text for leaf in index.leaves("a")] == ["New text."]


async def test_many_tasks_that_add_at_once_wait_without_holding_each_other_up(tmp_path: Path):
    index = await Index.aopen(tmp_path / "kb", timeout=20)
    await asyncio.gather(*(index.aadd(Document(f"d{n}", "Some text.")) for n in range(8)))
    assert await index.acount() == 8
