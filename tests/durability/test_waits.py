"""Every wait for a folder ends within its timeout, even if another process stops in the middle."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, Index, StorageFailed, Vector, WriterBusy
from leafspan.engines.local._file_lock import FileLock
from tests.durability.children import child
from tests.durability.versions import open_index
from tests.lateness import ends_within

TIMEOUT = 1.0
MOMENT = 1.0  # in which everything ends after its timeout

stopping = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Index]:
    """An index that waits for a second at most."""
    with open_index({"path": str(tmp_path / "kb")}, timeout=TIMEOUT) as index:
        index.add(Document("a", "Some text. And more."))
        index.retrieve("text", Vector())
        yield index


def busy_within_its_timeout(call: Callable[[], Any], match: str) -> None:
    with ends_within(TIMEOUT + MOMENT), pytest.raises(WriterBusy, match=match):
        call()


@contextmanager
def no_answer_of_chroma(index: Index) -> Iterator[None]:
    """The Chroma that is open in this process answers nothing, as while another process has its database locked."""

    def asked(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("Chroma is asked")

    client = index._store._folder._opened.client
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "get_collection", asked)
        patch.setattr(client, "list_collections", asked)
        yield


@stopping
def test_behind_a_stopped_process_that_uses_the_files_everything_ends_and_names_it(waiting: Index, tmp_path: Path):
    place = {"path": str(tmp_path / "kb")}
    with child("hold_files", place) as holder:
        assert holder.hear() == "held"
        os.kill(holder.process.pid, signal.SIGSTOP)
        try:
            named = (
                rf"in use by another process \(process {holder.process.pid}\)" if Path("/proc/locks").exists() else "in use"
            )
            busy_within_its_timeout(lambda: waiting.add(Document("b", "Text.")), named)
            waiting._store._folder.changes.advance()  # as if that process had written, so that Chroma must be opened again
            assert waiting.count() == 1  # which nobody has to open Chroma for
            assert [passage.document_id for passage in waiting.retrieve("text", Vector(), k=1)] == ["a"]
            busy_within_its_timeout(waiting.repair, named)
            busy_within_its_timeout(lambda: Index.open(tmp_path / "kb", name="other", timeout=TIMEOUT), named)
        finally:
            os.kill(holder.process.pid, signal.SIGCONT)
    assert waiting.count() == 1
    assert waiting.add(Document("b", "Text.")).added == ("b",)


@stopping
def test_behind_a_stopped_writer_reading_goes_on_and_writing_ends_and_names_it(waiting: Index, tmp_path: Path):
    with child("hold", {"path": str(tmp_path / "kb")}) as holder:
        assert holder.hear() == "held"
        os.kill(holder.process.pid, signal.SIGSTOP)
        try:
            named = rf"another writer \(process {holder.process.pid}\) has held" if Path("/proc/locks").exists() else "held"
            busy_within_its_timeout(lambda: waiting.add(Document("b", "Text.")), named)
            busy_within_its_timeout(lambda: waiting.delete(["a"]), named)
            assert waiting.count() == 1
            assert [passage.document_id for passage in waiting.retrieve("text", Vector(), k=1)] == ["a"]
            waiting._store._folder.changes.touching = True  # as where the writer was stopped within Chroma
            with no_answer_of_chroma(waiting), open_index({"path": str(tmp_path / "kb")}, timeout=TIMEOUT) as another:
                assert [passage.document_id for passage in another.retrieve("text", Vector(), k=1)] == ["a"]
        finally:
            os.kill(holder.process.pid, signal.SIGCONT)


def test_behind_a_thread_that_hangs_while_it_opens_chroma_everything_ends(waiting: Index):
    folder = waiting._store._folder
    folder.changes.advance()  # as if another process had written
    with folder._mutex:
        assert waiting.count() == 1
        busy_within_its_timeout(lambda: waiting.add(Document("b", "Text.")), "another thread is still opening")
    assert waiting.count() == 1


def test_a_write_that_failed_is_not_followed_by_another_one_of_the_same_client(
    waiting: Index, monkeypatch: pytest.MonkeyPatch
):
    before = waiting._store._folder.opened(time.monotonic())

    class Broken(Exception):
        pass

    def fail(*_: Any, **__: Any) -> None:
        raise Broken("Chroma has failed")

    with monkeypatch.context() as patch:
        handle = before.collections["kb.leaves"]._handle
        patch.setattr(handle, "add", fail)
        with pytest.raises(Exception, match="Chroma has failed"):
            waiting.add(Document("b", "Text."))
        with pytest.raises(StorageFailed, match=r"an earlier write to .* failed"):
            before.use(1.0).call(len, "never")
    assert waiting.count() == 1
    assert waiting.add(Document("b", "Text.")).added == ("b",)
    assert waiting._store._folder.opened(time.monotonic() + 20) is not before
    assert waiting.repair() == []


def test_a_lock_whose_file_was_deleted_stops_its_writer(waiting: Index, tmp_path: Path):
    from leafspan.flows import run

    writer = run(waiting._store.start_writing(1, None))
    (tmp_path / "kb" / "leafspan.lock").unlink()
    with pytest.raises(StorageFailed, match=r"leafspan\.lock' was deleted while a writer held it"):
        run(writer.advance())
    writer.stop()
    assert waiting.add(Document("b", "Text.")).added == ("b",)


def test_an_interruption_while_the_files_are_opened_leaves_nothing_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("leafspan.store._folder.fresh_client", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Index.open(tmp_path / "kb", timeout=0)
    lock = FileLock(tmp_path / "kb" / "leafspan.files")
    assert lock.try_acquire()
    lock.release()
    with Index.open(tmp_path / "kb", timeout=0) as index:
        assert index.add(Document("a", "Text.")).added == ("a",)


def test_a_lock_that_others_hold_can_be_named(tmp_path: Path):
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.holder() == ""
    assert first.try_acquire()
    assert not second.try_acquire()
    assert not second.acquire(time.monotonic() + 0.05)
    if Path("/proc/locks").exists():
        assert second.holder() == " (this process)"
    first.release()
    assert second.try_acquire()
    assert second.is_intact
    (tmp_path / "lock").unlink()
    assert not second.is_intact
    second.release()
