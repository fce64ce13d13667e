"""Every strategy can read a read-only index in a folder, and writing gives an error."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leafspan import BM25, AutoMerging, DamagedIndex, Document, F, Hybrid, Index, RelevantSegments, Tree, Vector
from leafspan.engines.chroma import _chroma
from leafspan.errors import StorageReadOnly
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER

STRATEGIES = [Vector(), BM25(), Hybrid(), AutoMerging(), RelevantSegments()]


def mount_read_only(source: Path, target: Path) -> bool:
    """Whether a folder could be mounted a second time, read-only. Nobody but root can."""
    target.mkdir()
    commands = (["mount", "--bind", str(source), str(target)], ["mount", "-o", "remount,ro,bind", str(target)])
    try:
        return all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)
    except OSError:
        return False


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder, and the same read-only."""
    (tmp_path / "writable").mkdir()
    try:
        if not mount_read_only(tmp_path / "writable", tmp_path / "read-only"):
            pytest.skip("nothing can be mounted here")
        yield tmp_path / "writable", tmp_path / "read-only"
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "read-only")], capture_output=True, check=False)


def test_an_index_on_a_read_only_mount_is_read_like_any_other(places: tuple[Path, Path]):
    writable, read_only = places
    with Index.open(writable / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        expected = [index.retrieve(question, strategy) for strategy in STRATEGIES for question in QUESTIONS]
        filtered = index.retrieve(QUESTIONS[0], Vector(), where=F("doc_id") != "nothing")
        documents = index.documents()
    before = sorted((path, path.stat().st_mtime_ns) for path in writable.rglob("*"))
    with Index.open(read_only / "kb", create=False) as index:
        assert index.documents() == documents
        assert [index.retrieve(question, strategy) for strategy in STRATEGIES for question in QUESTIONS] == expected
        assert index.retrieve(QUESTIONS[0], Vector(), where=F("doc_id") != "nothing") == filtered
        assert index.get(documents[0].id).text == next(each.text for each in DOCUMENTS if each.id == documents[0].id)
        for write in (
            lambda: index.add(Document("new", "Text.")),
            lambda: index.delete([documents[0].id]),
            index.build_tree,
        ):
            with pytest.raises(
                StorageReadOnly, match=r"cannot write the index in .* the folder, or a file in it, is read-only"
            ):
                write()
    assert sorted((path, path.stat().st_mtime_ns) for path in writable.rglob("*")) == before


def test_a_reader_on_a_read_only_mount_sees_what_others_write(places: tuple[Path, Path]):
    writable, read_only = places
    with Index.open(writable / "kb") as writer:
        writer.add(Document("a", "The first text."))
        with Index.open(read_only / "kb") as reader:
            assert reader.count() == 1
            writer.add(Document("b", "The second text."))
            assert reader.count() == 2
            assert {each.document_id for each in reader.retrieve("text", Vector())} == {"a", "b"}


def test_damaged_vectors_on_a_read_only_mount_are_read_from_the_copy(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    writable, read_only = places
    monkeypatch.setitem(_chroma._HNSW, "sync_threshold", 50)
    with Index.open(writable / "kb", splitter=SPLITTER) as index:
        index.add([Document(str(n), " ".join(f"Number {n} has sentence {m}." for m in range(20))) for n in range(20)])
        leaves = len(index.leaves())
    (ids,) = (writable / "kb").glob("*/index_metadata.pickle")
    ids.unlink()
    with Index.open(read_only / "kb") as index:
        assert len(index.retrieve("number", Vector(), k=10_000, candidates=10_000)) == leaves
    assert not ids.exists()


def put_an_older_database_back(folder: Path) -> None:
    """Make an index of two documents, whose database is the one from before the second of them."""
    with Index.open(folder) as index:
        index.add(Document("a", "The first text."))
    shutil.copy(folder / "chroma.sqlite3", folder.with_suffix(".before"))
    with Index.open(folder) as index:
        index.add(Document("b", "The second text."))
    shutil.copy(folder.with_suffix(".before"), folder / "chroma.sqlite3")


def test_a_reader_notices_a_database_older_than_what_lies_beside_it(tmp_path: Path):
    put_an_older_database_back(tmp_path / "kb")
    with pytest.raises(DamagedIndex, match=r"is older than the files beside it: .* put the whole folder back"):
        Index.open(tmp_path / "kb", read_only=True)
    (tmp_path / "kb" / "leafspan.changes").unlink()  # as the error says
    with Index.open(tmp_path / "kb") as index:
        assert [(each.document_id, each.repaired) for each in index.repair()] == [("b", False)]
        index.add(Document("b", "The second text."))
        assert index.repair() == []
    with Index.open(tmp_path / "kb", read_only=True) as reader:
        assert [reader.get(document.id).text for document in reader.documents()] == ["The first text.", "The second text."]


def test_a_reader_on_a_read_only_mount_notices_a_database_older_than_what_lies_beside_it(places: tuple[Path, Path]):
    writable, read_only = places
    put_an_older_database_back(writable / "kb")
    with pytest.raises(DamagedIndex, match="is older than the files beside it"):
        Index.open(read_only / "kb")


def test_nothing_is_made_on_a_read_only_mount(places: tuple[Path, Path]):
    _, read_only = places
    with pytest.raises(StorageReadOnly, match="cannot make the folder"):
        Index.open(read_only / "kb")
    with pytest.raises(FileNotFoundError, match="there is no index in"):
        Index.open(read_only / "kb", create=False)


@pytest.mark.parametrize("use", [lambda index: None, lambda index: index.warm(), lambda index: index.add([])])
def test_a_new_index_without_documents_is_read_like_any_other(tmp_path: Path, use: Callable[[Index], object]):
    with Index.open(tmp_path / "kb") as index:
        use(index)
    with Index.open(tmp_path / "kb", read_only=True) as reader:
        for strategy in (*STRATEGIES, Tree(base=Hybrid())):
            assert reader.retrieve(QUESTIONS[0], strategy) == []
        assert (reader.count(), reader.documents(), reader.leaves()) == (0, [], [])
        assert reader.stats().embedder is None
        with Index.open(tmp_path / "kb") as writer:
            writer.add(DOCUMENTS)
        assert reader.retrieve(QUESTIONS[0], Hybrid())
        assert reader.stats().embedder is not None


def test_where_only_chroma_has_what_is_asked_for_a_reader_says_what_to_do(tmp_path: Path):
    """Of an index without what is derived from it, where nothing is made, and Chroma not opened."""
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "The text."))
    with Index.open(tmp_path / "kb", read_only=True) as reader:
        for read in (reader.check, reader.repair):
            with pytest.raises(StorageReadOnly, match=r"opened to be read only"):
                read()
    shutil.rmtree(tmp_path / "kb" / "leafspan.segments")
    before = sorted(tmp_path.rglob("*"))
    with Index.open(tmp_path / "kb", read_only=True) as reader:
        assert reader.count() == 1
        for strategy in STRATEGIES:
            with pytest.raises(StorageReadOnly, match=r"this needs Chroma, which must write.*warm\(\)"):
                reader.retrieve("text", strategy)
    assert sorted(tmp_path.rglob("*")) == before
    with Index.open(tmp_path / "kb") as index:
        index.warm()
    with Index.open(tmp_path / "kb", read_only=True) as reader:
        for strategy in STRATEGIES:
            assert [each.text for each in reader.retrieve("text", strategy)] == ["The text."]
