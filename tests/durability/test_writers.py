"""Writers take turns: the second one waits, and its error names the one that it waits for."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from leafspan import Index, WriterBusy
from leafspan.engines.chroma._collection import Collection
from leafspan.flows import Call, run
from leafspan.store._rows_file import RowsInFile
from tests.durability.children import Child, child
from tests.durability.versions import document, open_index, records, text_of


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    return {"path": str(tmp_path / "kb")}


def test_a_second_process_waits_then_gets_an_error_that_names_the_folder_and_the_timeout(place: dict[str, Any]) -> None:
    with open_index(place) as index:
        index.add(document("early", 1))
    with child("hold", place) as holder, open_index(place, timeout=0.3) as index:
        assert holder.hear() == "held"
        for write in (lambda: index.add(document("late", 1)), lambda: index.delete(["early"]), index.repair):
            started = time.monotonic()
            with pytest.raises(
                WriterBusy,
                match=r"another writer \(process \d+\) has held '.*kb' for more than the timeout of 0\.3 seconds",
            ):
                write()
            assert time.monotonic() - started >= 0.3
        assert text_of(index, "early") == document("early", 1).text
        assert text_of(index, "late") is None


def test_a_second_process_goes_on_when_the_first_is_done(place: dict[str, Any]) -> None:
    with child("hold", place) as holder, open_index(place) as index, ThreadPoolExecutor() as pool:
        assert holder.hear() == "held"
        added = pool.submit(index.add, document("late", 1))
        holder.say("go")
        assert holder.hear() == "done"
        assert added.result().added == ("late",)


def test_a_second_process_goes_on_when_the_first_is_killed(place: dict[str, Any]) -> None:
    with child("hold", place) as holder, open_index(place) as index, ThreadPoolExecutor() as pool:
        assert holder.hear() == "held"
        added = pool.submit(index.add, document("late", 1))
        holder.kill()
        assert added.result().added == ("late",)
        assert index.repair() == []


def test_a_second_thread_waits_then_gets_an_error_and_goes_on_when_the_first_is_done(place: dict[str, Any]) -> None:
    with open_index(place) as first, open_index(place, timeout=0.2) as second, ThreadPoolExecutor() as pool:
        first.add(document("early", 1))
        writer = run(first._store.start_writing(1.0, []))
        with pytest.raises(WriterBusy, match=r"kb' for more than the timeout of 0\.2 seconds"):
            pool.submit(second.add, document("late", 1)).result()
        waiting = pool.submit(first.add, document("late", 1))
        writer.stop()
        assert waiting.result().added == ("late",)


def test_threads_that_share_an_index_behind_a_server_take_turns(chroma_server: tuple[str, int], tmp_path: Path) -> None:
    host, port = chroma_server
    index = open_index({"host": host, "port": port, "name": tmp_path.name}, timeout=0.2)
    writer = run(index._store.start_writing(1.0, []))
    with pytest.raises(
        WriterBusy, match=r"another writer has held '.*\.manifest' for more than the timeout of 0\.2 seconds"
    ):
        index.add(document("late", 1))
    writer.stop()
    assert index.add(document("late", 1)).added == ("late",)


@pytest.mark.parametrize("kind", ["folder", pytest.param("server", marks=pytest.mark.slow)])
def test_two_processes_that_add_different_documents_at_the_same_time_both_end_complete(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, place: dict[str, Any]
) -> None:
    name = "kb"
    if kind == "server":
        name = tmp_path.name
        host, port = request.getfixturevalue("chroma_server")
        place = {"host": host, "port": port, "name": name}
    mine = [[f"{who}-{i}", 1, 8] for who in "ab" for i in range(4)]
    run_together(place, mine[:4], mine[4:])
    index = open_index(place)
    for each in mine:
        assert text_of(index, each[0]) == document(*each).text
    assert len(records(index, name)["leaves"]) == 8 * 8
    assert index.repair() == []


@pytest.mark.slow
def test_two_processes_that_add_the_same_documents_at_the_same_time_leave_them_once_and_complete(
    place: dict[str, Any],
) -> None:
    same = [[f"same-{i}", 1, 8] for i in range(12)]
    run_together(place, same, same)
    with open_index(place) as index:
        for each in same:
            assert text_of(index, each[0]) == document(*each).text
        assert len(records(index)["leaves"]) == 12 * 8
        assert index.repair() == []


def run_together(place: dict[str, Any], *additions: list[list[Any]]) -> None:
    """Processes that open the index, which is not there yet, and add to it, all at the same time."""
    writers = [Child("create", place, add=each, batch=20) for each in additions]
    try:
        for writer in writers:
            assert writer.hear() == "ready"
        for writer in writers:
            writer.say("go")
        for writer in writers:
            assert writer.hear() == "done"
    finally:
        for writer in writers:
            writer.kill()


async def test_a_task_cancelled_at_any_call_of_an_add_leaves_no_lock_and_whole_documents(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(place, timeout=5.0)
    index.add([document("first", 1), document("second", 1)])
    for cancelled_at in itertools.count():
        version = cancelled_at + 2
        new = [document("first", version), document("second", version)]
        with monkeypatch.context() as patched:
            task = asyncio.create_task(index.aadd(new))
            numbers = itertools.count()
            patched.setattr(Collection, "_call", cancelling(task, cancelled_at, numbers))
            patched.setattr(RowsInFile, "put", cancelling_rows(task, cancelled_at, numbers))
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
        texts = [text_of(index, name) for name in ("first", "second")]
        assert texts[0] in (document("first", version).text, document("first", version - 1).text)
        assert texts[1] in (document("second", version).text, document("second", version - 1).text)
        await index.aadd(new)
        assert text_of(index, "first") == document("first", version).text
        assert len(records(index)["leaves"]) == 2 * 8
        if not isinstance(outcome, asyncio.CancelledError):
            break
    assert index.repair() == []
    assert cancelled_at == 5  # its rows, leaves, rows again, the old leaves, rows once more


def cancelling(task: asyncio.Task[Any], number: int, numbers: Iterator[int]) -> Callable[..., Call]:
    """``Collection._call``, but the writing call of that number finds its task cancelled."""
    call = Collection._call

    def counted(self: Collection, method: str, options: dict[str, Any], **how: Any) -> Call:
        if how.get("finish") and next(numbers) == number:
            task.cancel()
        return call(self, method, options, **how)

    return counted


def cancelling_rows(task: asyncio.Task[Any], number: int, numbers: Iterator[int]) -> Callable[..., Any]:
    """``RowsInFile.put``, but the call of that number finds its task cancelled."""
    put = RowsInFile.put

    def counted(self: RowsInFile, records: Any) -> Any:
        if next(numbers) == number:
            task.cancel()
        return put(self, records)

    return counted


async def test_a_task_cancelled_while_it_waits_for_the_lock_does_not_keep_it(place: dict[str, Any]) -> None:
    index = open_index(place)
    index.add(document("early", 1))
    entered = threading.Event()
    folder = index._store._folder
    attempt = folder.try_writing

    def try_writing(*given: Any, **options: Any) -> bool:
        entered.set()
        return attempt(*given, **options)

    writer = run(index._store.start_writing(1.0, []))
    folder.try_writing = try_writing
    task = asyncio.create_task(index.aadd(document("late", 1)))
    assert await asyncio.to_thread(entered.wait, 60.0)
    task.cancel()
    writer.stop()
    with pytest.raises(asyncio.CancelledError):
        await task
    with Index.open(place["path"], timeout=20.0) as other:
        other.delete(["early"])


async def test_a_task_cancelled_behind_a_server_leaves_no_lock(chroma_server: tuple[str, int], tmp_path: Path) -> None:
    host, port = chroma_server
    index = open_index({"host": host, "port": port, "name": tmp_path.name}, timeout=1.0)
    task = asyncio.create_task(index.aadd(document("late", 1)))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await index.aadd(document("late", 1))
    assert text_of(index, "late") == document("late", 1).text
    assert index.repair() == []
