"""An index can be opened and written in one thread while another thread has Chroma opened again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from leafspan import Document, Index, WriterBusy
from leafspan.engines.local import FileLock, deadline_after
from leafspan.engines.local._change_file import ChangeFile
from leafspan.flows import run
from leafspan.store import _connecting, open_store
from leafspan.store._folder import folder_at
from leafspan.store._reader import Reader


def test_an_index_opens_with_any_other_opening_between_two_calls(tmp_path: Path, monkeypatch) -> None:
    with Index.open(tmp_path) as index:
        index.add(Document("a", "One."))
        changes = ChangeFile(tmp_path / "leafspan.changes")
        call = _connecting.Call

        def call_after_a_change(function, *arguments, **options):
            # As another process that adds, and then a thread of this one that reads.
            def changed(*given, **more):
                changes.advance()
                index.count()
                return function(*given, **more)

            return call(changed, *arguments, **options)

        monkeypatch.setattr(_connecting, "Call", call_after_a_change)
        store = run(open_store(tmp_path, None, "kb", settings={}, create=False, timeout=60))
        assert store.id == index._store.id


def test_a_writer_begins_though_chroma_is_opened_again_meanwhile(tmp_path: Path, monkeypatch) -> None:
    with Index.open(tmp_path) as index:
        index.add([Document("a", "One."), Document("b", "Two.")])
        rows = Reader.rows

        def rows_while_another_thread_fails(reader, *arguments):
            monkeypatch.setattr(Reader, "rows", rows)
            found = yield from rows(reader, *arguments)
            folder = index._store._folder
            folder.opened(time.monotonic() + 60)._failed.set()  # as after a full disk
            folder.opened(time.monotonic() + 60)
            return found

        monkeypatch.setattr(Reader, "rows", rows_while_another_thread_fails)
        index.delete(["a"])
        assert [each.id for each in index.documents()] == ["b"]


def test_a_collection_is_loaded_only_while_no_other_process_uses_the_files(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "A text."))
    opened = folder_at(tmp_path / "kb", None, deadline_after(5)).opened(deadline_after(5))
    lock = FileLock(tmp_path / "kb" / "leafspan.files")
    assert lock.try_acquire()
    with pytest.raises(WriterBusy, match="in use by another process"):
        opened.collection("kb.leaves", time.monotonic() + 0.05)
    lock.release()
    assert opened.collection("kb.leaves", deadline_after(5)).name == "kb.leaves"
