"""An index in a folder is read without Chroma: leafspan's own files answer everything, or Chroma does."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings

import leafspan
from leafspan import (
    BM25,
    AutoMerging,
    Document,
    F,
    Hybrid,
    Index,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Tree,
    Vector,
)
from leafspan.errors import StorageReadOnly
from leafspan.segments import _mirror
from leafspan.store import _folder
from tests import warm
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.profiles import THOROUGH, paired, quick
from tests.reading import distrust_chroma

_ROOT = Path(__file__).parents[2]
QUESTIONS_HERE = QUESTIONS if THOROUGH else QUESTIONS[:2]
STRATEGIES = [Vector(), BM25(), Hybrid(), AutoMerging(), SentenceWindow(), ParentDocument(), RelevantSegments(), Tree()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "kb"
    with Index.open(folder, splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree()
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "kb")


@pytest.fixture
def without_chroma(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call of this on, Chroma must not be opened."""

    def opened() -> None:
        raise AssertionError("Chroma is opened")

    return lambda: monkeypatch.setattr(_folder, "use_embedded_chroma", opened)


def everything(index: Index | leafspan.View) -> list[Any]:
    """All that can be read of an index."""
    documents = index.documents()
    results = [index.retrieve(each, strategy, k=5) for strategy in STRATEGIES for each in QUESTIONS_HERE]
    results += [index.retrieve(QUESTIONS[0], strategy, where=F("doc_id") != "tea", budget=60) for strategy in STRATEGIES]
    # Chroma brings vectors to length 1 itself, and rounds otherwise.
    found: list[Any] = [[(each.id, each.text, each.metadata, round(each.score, 5)) for each in row] for row in results]
    found += [documents, index.count(), index.stats(), [index.get(each.id) for each in documents]]
    return [*found, [index.leaves(each.id) for each in documents]]


def test_everything_is_read_without_chroma_and_is_the_same(folder: Path, without_chroma: Callable[[], None]):
    shutil.rmtree(shutil.copytree(folder, folder.with_name("bare")) / "leafspan.segments")
    with Index.open(folder.with_name("bare")) as index:
        expected = everything(index)
        scoped = everything(index.scoped(F("year") > 1800))
    without_chroma()
    with Index.open(folder) as index:
        assert everything(index) == expected
        assert everything(index.scoped(F("year") > 1800)) == scoped


def test_what_is_missing_is_made_again_so_that_the_next_process_needs_no_chroma(
    folder: Path, without_chroma: Callable[[], None]
):
    shutil.rmtree(folder / "leafspan.segments")
    with Index.open(folder) as index:
        expected = everything(index)
    without_chroma()
    with Index.open(folder) as index:
        assert everything(index) == expected


def test_what_others_have_written_with_chroma_alone_is_noticed_when_the_folder_is_opened(folder: Path):
    with Index.open(folder) as index:
        before = index.count()
    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    client.delete_collection("kb.leaves")
    client.close()
    with pytest.raises(leafspan.IndexNotFound):
        Index.open(folder, create=False)
    with Index.open(folder) as index:
        assert (before, index.count()) == (len(DOCUMENTS), 0)


def test_a_reader_sees_the_next_change_of_another_process_without_opening_chroma(
    folder: Path, without_chroma: Callable[[], None]
):
    with Index.open(folder) as reader:
        before = reader.retrieve(QUESTIONS[0], Hybrid(), k=3)
        write(folder, "index.add(Document('new', 'Something new about zeppelins.'))")
        without_chroma()
        assert reader.retrieve("zeppelins", Hybrid(), k=1)[0].document_id == "new"
        write(folder, "index.delete(['new'])")
        assert reader.retrieve(QUESTIONS[0], Hybrid(), k=3) == before
        assert reader.count() == len(DOCUMENTS)


def test_a_writer_that_embeds_nothing_leaves_the_embedder_in_the_catalogue(
    folder: Path, without_chroma: Callable[[], None]
):
    distrust_chroma(folder)
    with Index.open(folder) as index:
        index.delete([DOCUMENTS[0].id])
    without_chroma()
    with Index.open(folder) as index:
        assert index.retrieve(QUESTIONS[1], Vector(), k=1)
        assert index.stats().embedder is not None


def test_trees_that_were_never_built_are_not_looked_for_in_chroma(tmp_path: Path, without_chroma: Callable[[], None]):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
    without_chroma()
    with Index.open(tmp_path / "kb") as index:
        assert index.stats().summaries == 0


def test_an_index_whose_collections_were_deleted_is_gone_though_it_is_open(folder: Path):
    with Index.open(folder) as index:
        for collection in index.client.list_collections():
            index.client.delete_collection(collection.name)
        with pytest.raises(leafspan.IndexNotFound):
            Index.open(folder, create=False)


@pytest.mark.parametrize("made_again", [False, True])
def test_an_open_index_whose_collections_were_deleted_says_so_at_the_next_question(
    folder: Path, made_again: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_folder, "_CHECK_SECONDS", 0.0)
    with Index.open(folder) as index:
        assert index.retrieve(QUESTIONS[0], Vector(), k=1)
        for collection in index.client.list_collections():
            index.client.delete_collection(collection.name)
        if made_again:
            for name in ("kb.leaves",):
                index.client.create_collection(name)
        for ask in (index.count, index.documents, lambda: index.retrieve(QUESTIONS[0], Vector(), k=1)):
            with pytest.raises(leafspan.DamagedIndex, match=r"made again meanwhile: open it again|does not exist"):
                ask()


def test_what_others_write_beside_an_open_index_is_no_matter(
    folder: Path, monkeypatch: pytest.MonkeyPatch, calls: Counter[tuple[str, str]]
):
    monkeypatch.setattr(_folder, "_CHECK_SECONDS", 0.0)
    with Index.open(folder) as index:
        expected = index.retrieve(QUESTIONS[0], Hybrid(), k=3)
        other = index.client.create_collection("other", embedding_function=None)
        for number in range(3):
            other.add(ids=[str(number)], embeddings=[[1.0]])
            calls.clear()
            assert index.retrieve(QUESTIONS[0], Hybrid(), k=3) == expected
            assert not calls  # of what is stored, nothing is read again


@pytest.mark.parametrize("pattern", ["*/records/*", "*/vectors/*", "*/words-*/*"])
@pytest.mark.filterwarnings("ignore:.*leafspan rebuilds it:RuntimeWarning")
def test_a_byte_that_has_changed_in_any_of_its_files_changes_no_answer(folder: Path, pattern: str):
    with Index.open(folder) as index:
        expected = everything(index)
    for path in sorted(folder.glob(f"leafspan.segments/{pattern}")):
        whole = path.read_bytes()
        for place in range(5, len(whole), max(1, len(whole) // 2)):
            path.parent.mkdir(exist_ok=True)  # it goes with its last file, if nothing is searched after that
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
            with Index.open(folder) as index:
                assert everything(index) == expected, (path.name, place)


@pytest.mark.parametrize(("pattern", "read_only"), paired(["*/records/*", "*/vectors/*", "*/words-*/*"], [True, False]))
@pytest.mark.filterwarnings("ignore:.*leafspan rebuilds it:RuntimeWarning")
def test_bytes_that_change_behind_an_index_that_is_open_change_no_answer(folder: Path, pattern: str, read_only: bool):
    """They are compared when they are first read. If nothing can be rebuilt, an error says so."""
    with Index.open(folder) as index:
        expected = everything(index)
    with Index.open(folder, read_only=read_only) as index:
        index.get(DOCUMENTS[0].id)
        for path in sorted(folder.glob(f"leafspan.segments/{pattern}")):
            with path.open("r+b") as file:
                whole = file.read()
                for place in range(len(whole) // 3, len(whole), 997):
                    file.seek(place)
                    file.write(bytes([whole[place] ^ 0x10]))
        try:
            found = everything(index)
        except StorageReadOnly:
            assert read_only
            return
    assert found == expected


def test_an_index_that_is_opened_to_read_writes_nothing(folder: Path):
    def state() -> dict[str, object]:
        return {str(each): (each.stat().st_mtime_ns, each.stat().st_size) for each in sorted(folder.rglob("*"))}

    before = state()
    with Index.open(folder, read_only=True) as index:
        assert len(everything(index)) > len(STRATEGIES)
        for write in (
            lambda: index.add(Document("new", "Text.")),
            lambda: index.delete([DOCUMENTS[0].id]),
            lambda: index.build_tree(max_layers=1),
        ):
            with pytest.raises(StorageReadOnly, match="opened to be read only: open it without read_only=True to write"):
                write()
    assert state() == before


def test_who_only_reads_merges_no_files_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_mirror, "_MOST_APPENDED", 100)  # or else the writer has merged them
    texts = [f"Question {number} was answered at harbour {number}." for number in range(12)]
    with Index.open(tmp_path) as index:
        for number, text in enumerate(texts):
            index.add(Document(f"d{number}", text))
    with Index.open(tmp_path, read_only=True) as index:
        assert [each.text for each in index.retrieve(texts[7], Hybrid(), k=1)] == [texts[7]]
        segments = [each for copy in index._sources.indexes.copies for each in copy._segments or ()]
        assert len(segments) == 3 * len(texts)  # of words, of vectors, and of texts
        assert [each for each in segments if each.path is None] == []


def test_who_writes_merges_what_was_written_so_that_no_reader_has_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 4)
    with Index.open(tmp_path) as index:
        for number in range(3 * _mirror.MOST_SEGMENTS):
            index.add(Document(f"d{number}", f"Question {number} was answered at harbour {number}."))
    with Index.open(tmp_path, read_only=True) as index:
        assert index.retrieve("harbour 7", Hybrid(), k=1)[0].document_id == "d7"
        for copy_ in index._sources.indexes.copies:
            assert len(copy_._segments or ()) <= _mirror.MOST_SEGMENTS + 1


def test_nothing_is_made_where_an_index_is_opened_to_read(tmp_path: Path):
    with pytest.raises(leafspan.IndexNotFound):
        Index.open(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()
    with pytest.raises(leafspan.InvalidArgument, match="read_only must be True or False, got 'w'"):
        Index.open(tmp_path / "none", read_only="w")  # type: ignore[arg-type]


def test_a_reader_by_mode_sees_what_a_writer_beside_it_writes(folder: Path):
    with Index.open(folder) as writer, Index.open(folder, read_only=True) as reader:
        writer.add(Document("new", "Something new about zeppelins."))
        assert reader.retrieve("zeppelins", Hybrid(), k=1)[0].document_id == "new"


def asked(view: leafspan.View) -> tuple[list[str], int]:
    return [each.id for each in view.retrieve(QUESTIONS[0], Hybrid(), k=3)], os.getpid()


@pytest.mark.parametrize("duplicate", [lambda view: pickle.loads(pickle.dumps(view)), copy.deepcopy, copy.copy])
def test_an_index_and_its_views_are_pickled_as_their_place_and_options(folder: Path, duplicate):
    with Index.open(folder, on_damage="skip", timeout=7, config={"strategy": "bm25", "k": 2}) as index:
        view = index.scoped(F("year") > 1800)
        for each in (index, view):
            again = duplicate(each)
            assert type(again) is type(each)
            assert repr(again) == repr(each)
            assert again.retrieve(QUESTIONS[0]) == each.retrieve(QUESTIONS[0])
            assert len(again.retrieve(QUESTIONS[0])) <= 2


@pytest.mark.parametrize("how", quick(1, ["fork", "spawn"]))
def test_processes_of_a_pool_search_the_index_of_their_parent(folder: Path, how: str):
    with Index.open(folder) as index:
        index.add(Document("more", "The parent has Chroma open."))
        expected, own = asked(index)
        with multiprocessing.get_context(how).Pool(2) as pool:
            answers = pool.map(asked, [index, index.scoped(F("year").exists() | ~F("year").exists())])
        assert [found for found, _ in answers] == [expected] * 2
        assert own not in [process for _, process in answers]


def write(folder: Path, what: str) -> None:
    """Another process writes."""
    script = f"from leafspan import *\nwith Index.open({str(folder)!r}) as index: {what}"
    warm.run([sys.executable, "-W", "ignore", "-c", script], check=True, cwd=_ROOT, capture_output=True, timeout=120)


_COLD = """
import json, sys
from leafspan import Index
with Index.open(sys.argv[1]) as index:
    found = [each.id for each in index.retrieve(sys.argv[2], "hybrid", k=3)]
unused = ("chromadb.", "wordllama.", *(f"leafspan.{module}" for module in sys.argv[3:]))
print(json.dumps([found, [name for name in sys.modules if name.startswith(unused)]]))
"""

FOR_WRITERS_AND_OTHERS = [
    "indexing.adopting._",
    "indexing._",
    "lab.",
    "private.",
    "sources.",
    "strategies._ensemble",
    "strategies._tree",
]


def test_a_process_that_reads_imports_neither_chroma_nor_what_it_does_not_use(folder: Path):
    with Index.open(folder) as index:
        expected = [each.id for each in index.retrieve(QUESTIONS[0], Hybrid(), k=3)]
    command = [sys.executable, "-W", "ignore", "-c", _COLD, str(folder), QUESTIONS[0], *FOR_WRITERS_AND_OTHERS]
    done = subprocess.run(command, check=True, cwd=_ROOT, capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout) == [expected, []]
