"""The folder of an index: private, without links, and noticed if it is replaced while an index is open."""

from __future__ import annotations

import gc
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leafspan import BM25, DamagedIndex, Document, Index, StorageFailed, Vector
from leafspan.engines.chroma import _chroma
from leafspan.flows import run
from leafspan.store import has_index
from tests.corpus import DOCUMENTS
from tests.profiles import paired

NOTICED = 0.15  # seconds within which a replaced folder is noticed


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_can_be_read_by_its_user_only_and_one_that_is_there_stays_as_it_is(tmp_path: Path):
    with Index.open(tmp_path / "new" / "kb") as index:
        index.add(DOCUMENTS)
    assert mode(tmp_path / "new" / "kb") == 0o700
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o750)
    with Index.open(tmp_path / "shared"):
        assert mode(tmp_path / "shared") == 0o750


@pytest.mark.parametrize(
    "name",
    ["leafspan.lock", "leafspan.files", "leafspan.changes", "leafspan.vectors", "leafspan.segments", "chroma.sqlite3"],
)
def test_a_link_in_the_folder_is_not_followed(tmp_path: Path, name: str):
    with Index.open(tmp_path / "kb") as index:
        index.add(DOCUMENTS[0])
        index.retrieve("anything", BM25())
    gc.collect()
    target = tmp_path / "target"
    if (tmp_path / "kb" / name).exists():
        (tmp_path / "kb" / name).rename(target)
    else:
        target.mkdir()
    before = [(each, each.stat().st_mtime_ns) for each in (target, *target.rglob("*"))]
    (tmp_path / "kb" / name).symlink_to(target)
    with pytest.raises(StorageFailed, match=rf"{name}'.* is a link"):
        Index.open(tmp_path / "kb")
    assert [(each, each.stat().st_mtime_ns) for each in (target, *target.rglob("*"))] == before


@pytest.mark.slow
def test_vector_files_behind_a_link_are_refused(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(DOCUMENTS[0])
    gc.collect()
    vectors = next(each for each in (tmp_path / "kb").iterdir() if len(each.name) == 36)
    vectors.rename(tmp_path / "elsewhere")
    vectors.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed, match="is a link"):
        Index.open(tmp_path / "kb")


def test_a_vector_file_behind_a_link_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(_chroma._HNSW, "sync_threshold", 6)
    with Index.open(tmp_path / "kb") as index:
        index.add(DOCUMENTS)
    gc.collect()
    (ids,) = (tmp_path / "kb").glob("*/index_metadata.pickle")
    file = ids.with_name("length.bin")
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    with pytest.raises(StorageFailed, match=r"length\.bin' is a link"):
        Index.open(tmp_path / "kb")
    assert (tmp_path / "elsewhere").read_bytes() == before


def test_a_mirror_behind_a_link_is_kept_in_memory(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(DOCUMENTS)
        (tmp_path / "elsewhere").mkdir()
        shutil.rmtree(tmp_path / "kb" / "leafspan.segments")
        (tmp_path / "kb" / "leafspan.segments").symlink_to(tmp_path / "elsewhere")
        with pytest.warns(RuntimeWarning, match="is a link, which is not followed"):
            assert index.retrieve("anything", BM25()) is not None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_folder_itself_may_be_a_link(tmp_path: Path):
    (tmp_path / "kb").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kb")
    with Index.open(tmp_path / "link") as index:
        index.add(Document("a", "Text."))
    with Index.open(tmp_path / "kb") as index:
        assert index.count() == 1


def test_a_folder_that_was_deleted_is_noticed_and_a_new_index_can_be_made_there(tmp_path: Path):
    old = Index.open(tmp_path / "kb")
    old.add(Document("a", "Text."))
    shutil.rmtree(tmp_path / "kb")
    time.sleep(NOTICED)
    for call in (old.count, lambda: old.retrieve("text", Vector()), lambda: old.add(Document("b", "Text."))):
        with pytest.raises(StorageFailed, match="was deleted or replaced after it was opened"):
            call()
    with Index.open(tmp_path / "kb") as new:
        assert new.count() == 0
        new.add(Document("b", "Another."))
        assert [each.document_id for each in new.retrieve("another", Vector())] == ["b"]


def test_a_folder_that_was_put_back_from_a_backup_is_opened_as_it_is_now(tmp_path: Path):
    old = Index.open(tmp_path / "kb")
    old.add(Document("a", "Text."))
    shutil.copytree(tmp_path / "kb", tmp_path / "backup")
    old.add(Document("b", "Another."))
    shutil.rmtree(tmp_path / "kb")
    shutil.copytree(tmp_path / "backup", tmp_path / "kb")
    time.sleep(NOTICED)
    with pytest.raises(StorageFailed, match="was deleted or replaced after it was opened: open it again"):
        old.count()
    with Index.open(tmp_path / "kb") as new:
        assert [each.id for each in new.documents()] == ["a"]
        assert new.add(Document("c", "A third.")).added == ("c",)
        assert {each.document_id for each in new.retrieve("text", Vector())} == {"a", "c"}


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(100)))


@pytest.mark.parametrize(
    ("name", "damage"), paired(["leafspan.lock", "leafspan.files", "leafspan.changes"], [Path.unlink, empty, garbage])
)
def test_small_files_that_are_lost_while_an_index_is_open_are_rebuilt(
    tmp_path: Path, name: str, damage: Callable[[Path], None]
):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "Text."))
        damage(tmp_path / "kb" / name)
        time.sleep(NOTICED)
        assert index.count() == 1
        assert index.add(Document("b", "Another.")).added == ("b",)
        assert {each.document_id for each in index.retrieve("text", Vector())} == {"a", "b"}
        assert index.repair() == []
    gc.collect()
    with Index.open(tmp_path / "kb") as index:
        assert index.count() == 2


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("remove", [Path.unlink, empty])
def test_a_missing_database_is_no_new_index(tmp_path: Path, remove: Callable[[Path], None], create: bool):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "Text."))
    del index
    gc.collect()
    remove(tmp_path / "kb" / "chroma.sqlite3")
    there = sorted(os.listdir(tmp_path / "kb"))
    for call in (
        lambda: Index.open(tmp_path / "kb", create=create),
        lambda: Index.open(tmp_path / "kb", name="other", create=create),
        lambda: run(has_index(tmp_path / "kb", None, "kb", 5.0)),
    ):
        with pytest.raises(DamagedIndex, match=r"though the folder has .* of an index: put the whole folder back"):
            call()
    assert sorted(os.listdir(tmp_path / "kb")) == there


def test_a_folder_in_which_nothing_was_made_yet_is_no_damaged_one(tmp_path: Path):
    (tmp_path / "kb").mkdir()
    for name in ("leafspan.lock", "leafspan.files", "leafspan.changes"):  # what a killed process may have left
        (tmp_path / "kb" / name).touch()
    with Index.open(tmp_path / "kb") as index:
        assert index.count() == 0


def test_the_vectors_of_other_collections_are_not_copied_and_not_touched(tmp_path: Path):
    import chromadb

    client = chromadb.PersistentClient(str(tmp_path / "kb"))
    options = {"hnsw": {"sync_threshold": 10, "batch_size": 10}}
    theirs = client.create_collection("theirs", embedding_function=None, configuration=options)
    theirs.add([str(n) for n in range(50)], embeddings=[[float(n), 1.0] for n in range(50)])
    client.close()
    (ids,) = (tmp_path / "kb").glob("*/index_metadata.pickle")
    before = [(each.name, each.read_bytes()) for each in sorted(ids.parent.iterdir())]
    with Index.open(tmp_path / "kb") as index:
        index.add(DOCUMENTS)
    assert not (tmp_path / "kb" / "leafspan.vectors" / ids.parent.name).exists()
    assert [(each.name, each.read_bytes()) for each in sorted(ids.parent.iterdir())] == before
