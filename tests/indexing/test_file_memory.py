"""A file that has not changed since the last sync is not read again, and a changed file always is."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Files, Index
from leafspan.files import _formats
from leafspan.indexing import _known_files
from tests.private.views.test_writers import private
from tests.profiles import examples


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, read_here: None) -> list[str]:
    """The names of the files that were read, which may all count as changed long ago."""
    names: list[str] = []

    def reading(reader: Any) -> Any:
        def spy(path: Path, files: Files) -> Iterator[Any]:
            names.append(path.name)
            return reader(path, files)  # type: ignore[no-any-return]

        return spy

    monkeypatch.setattr(_formats, "READERS", {suffix: reading(reader) for suffix, reader in _formats.READERS.items()})
    monkeypatch.setattr(_known_files, "_COARSEST", 0)
    return names


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Tea")
    (folder / "b.txt").write_text("Milk.")
    (folder / "c.jsonl").write_text('{"text": "One."}\n{"text": "Two."}')
    time.sleep(0.02)
    return folder


IDS = ("docs/a.md", "docs/b.txt", "docs/c.jsonl#line=1", "docs/c.jsonl#line=2")


def again(index: Index, source: Any, read: list[str]) -> tuple[list[str], Any]:
    """What a sync reads, and what it returns."""
    read.clear()
    synced = index.sync(source)
    return read[:], synced


def test_only_what_has_changed_is_read(tmp_path: Path, docs: Path, read: list[str]):
    with Index.open(tmp_path / "kb") as index:
        assert again(index, docs, read)[0] == ["a.md", "b.txt", "c.jsonl"]
        names, synced = again(index, docs, read)
        assert (names, synced.unchanged, synced.added, synced.deleted) == ([], IDS, (), ())
        (docs / "b.txt").write_text("Cream")
        (docs / "new.md").write_text("New.")
        time.sleep(0.02)
        names, synced = again(index, docs, read)
        assert (names, synced.replaced, synced.added) == (["b.txt", "new.md"], ("docs/b.txt",), ("docs/new.md",))
        assert synced.unchanged == (IDS[0], *IDS[2:])
        (docs / "a.md").unlink()
        names, synced = again(index, docs, read)
        assert (names, synced.deleted) == ([], ("docs/a.md",))
    with Index.open(tmp_path / "kb") as reopened:
        assert again(reopened, docs, read)[0] == []
        assert again(reopened, Files(docs, checksum=True), read)[0] == ["b.txt", "c.jsonl", "new.md"]


def test_a_file_that_was_written_a_moment_ago_is_read_once_more(tmp_path: Path, docs: Path, read: list[str], monkeypatch):
    monkeypatch.setattr(_known_files, "_COARSEST", 2_000_000_000)
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        assert again(index, docs, read)[0] == ["a.md", "b.txt", "c.jsonl"]
        monkeypatch.setattr(_known_files, "_COARSEST", 0)
        index.sync(docs)
        assert again(index, docs, read)[0] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda docs: (docs / "a.md").write_text("# Tee"),
        lambda docs: os.replace(shutil.copy2(docs / "a.md", docs / "x"), docs / "a.md"),
        lambda docs: os.utime(docs / "a.md", ns=(1, 1)),
        lambda docs: (docs / "a.md").chmod(0o600),
    ],
    ids=["as long as before", "another file", "an older time", "its mode"],
)
def test_any_change_of_a_file_is_noticed_also_if_its_time_is_put_back(tmp_path, docs, read, change: Any):
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        before = os.stat(docs / "a.md")
        change(docs)
        os.utime(docs / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
        time.sleep(0.02)
        assert again(index, docs, read)[0] == ["a.md"]
        assert again(index, docs, read)[0] == []


def test_what_the_index_no_longer_has_is_read(tmp_path: Path, docs: Path, read: list[str]):
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        index.delete(["docs/c.jsonl#line=2"])
        names, synced = again(index, docs, read)
        assert (names, synced.added, synced.unchanged) == (["c.jsonl"], ("docs/c.jsonl#line=2",), IDS[:3])


def test_other_options_read_a_file_again_and_readers_of_ones_own_always(tmp_path: Path, docs: Path, read: list[str]):
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        for options in (
            {"encoding": "latin-1"},
            {"text_field": "t"},
            {"id_field": "i"},
            {"title_field": "n"},
            {"outputs": True},
        ):
            assert again(index, Files(docs, **options), read)[0] == ["a.md", "b.txt", "c.jsonl"], options
        calls: list[Path] = []
        files = Files(docs, readers={".md": lambda path: calls.append(path) or "own"})
        for number in (1, 2):
            index.sync(files)
            assert len(calls) == number


def test_a_file_of_very_many_documents_is_not_remembered(tmp_path: Path, docs: Path, read: list[str], monkeypatch):
    monkeypatch.setattr(_known_files, "_MOST_DOCUMENTS", 1)
    (docs / "empty.jsonl").write_text("")
    time.sleep(0.02)
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        assert again(index, docs, read)[0] == ["c.jsonl", "empty.jsonl"]


def test_what_was_added_with_other_options_since_is_read(tmp_path: Path, docs: Path, read: list[str]):
    (docs / "c.jsonl").write_text('{"text": "One.", "name": "Tea"}')
    time.sleep(0.02)
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        index.add(Files(docs, title_field="name"))
        names, synced = again(index, docs, read)
        assert (names, synced.replaced) == (["c.jsonl"], ("docs/c.jsonl#line=1",))


def test_what_is_left_out_of_a_file_is_said_each_time(tmp_path: Path, docs: Path, read: list[str]):
    (docs / "c.jsonl").write_text('{"text": "One.", "score": 1}')
    (docs / "d.pdf").write_bytes(b"none")
    time.sleep(0.02)
    with Index.open(tmp_path / "kb") as index:
        said = index.sync(docs).skipped
        assert [each.path for each in said] == ["docs/c.jsonl", "docs/d.pdf"]
        names, synced = again(index, docs, read)
        assert (names, synced.skipped) == (["c.jsonl", "d.pdf"], said)


def test_a_dry_run_reads_no_more_and_remembers_nothing(tmp_path: Path, docs: Path, read: list[str]):
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        (docs / "a.md").write_text("# Coffee")
        time.sleep(0.02)
        for _ in range(2):
            read.clear()
            assert index.sync(docs, dry_run=True).replaced == ("docs/a.md",)
            assert read == ["a.md"]


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"format": 3, "files": {}}',
        b'{"format": 3, "files": [1]}',
        b"[" * 100_000,
        b'{"format": 3, "files": {"x": 3}}',
        b'{"format": 3, "files": {"x": [1, 2, 3, 4, "a", [], [[1, 2]]]}}',
    ],
)
def test_a_memory_that_is_damaged_or_gone_is_none(tmp_path: Path, docs: Path, read: list[str], damaged: bytes):
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        [path] = (tmp_path / "kb").rglob("files")
        assert len(json.loads(path.read_bytes())["files"]) == 3
        path.write_bytes(damaged)
        assert again(index, docs, read)[0] == ["a.md", "b.txt", "c.jsonl"]
        assert again(index, docs, read)[0] == []
        path.unlink()
        path.mkdir()  # and what cannot be written is no error
        assert again(index, docs, read)[0] == ["a.md", "b.txt", "c.jsonl"]
        assert index.check() == []


def test_views_read_every_file(tmp_path: Path, docs: Path, read: list[str]):
    with Index.open(tmp_path / "kb") as index:
        index.sync(docs)
        view = index.scoped({"tenant": "acme"})
        for _ in range(2):
            read.clear()
            assert len(view.sync(docs).skipped) == 0
            assert read == ["a.md", "b.txt", "c.jsonl"]
    (tmp_path / "other").mkdir()
    index, masked = private(tmp_path / "other")
    with index:
        for _ in range(2):
            read.clear()
            masked.sync(docs)
            assert read == ["a.md", "b.txt", "c.jsonl"]


CHANGES = ["write", "same", "replace", "delete", "touch", "back"]


@examples(30, fast=3)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from("abc"), st.integers(0, 3)), max_size=3), max_size=4
    )
)
def test_a_sync_that_remembers_does_what_one_does_that_reads_everything(rounds):
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        Index.open(Path(folder) / "one") as one,
        Index.open(Path(folder) / "two") as two,
    ):
        patch.setattr(_known_files, "_COARSEST", 0)
        docs = Path(folder) / "docs"
        docs.mkdir()
        for changes in [[("write", name, 0) for name in "abc"], *rounds]:
            for change, name, number in changes:
                path = docs / f"{name}.md"
                status = os.stat(path) if path.exists() else None
                if change == "delete":
                    path.unlink(missing_ok=True)
                elif change == "replace":
                    (docs / "new").write_text(f"Text {number}.")
                    os.replace(docs / "new", path)
                elif change == "touch" and status:
                    path.touch()
                elif change in ("write", "same", "back"):
                    path.write_text("Text " * (number + 1) if change == "write" else f"Text {number}.")
                    if change == "back" and status:
                        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
                time.sleep(0.01)  # longer than a tick of the clock of files
            assert one.sync(docs, allow_empty=True) == two.sync(Files(docs, checksum=True), allow_empty=True)
            assert [each.text for each in one.leaves()] == [each.text for each in two.leaves()]
