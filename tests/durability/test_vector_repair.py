"""Chroma's vectors are rebuilt without embedding, completely or not at all, in each state of their files."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafspan import Embedder, Finding, Index, Vector
from leafspan.engines.chroma import _chroma
from leafspan.engines.local import ChangeFile
from tests import warm
from tests.durability.children import ForkServer
from tests.durability.test_full_disk import small_disk  # noqa: F401 (a fixture)
from tests.durability.versions import ALL, EMBEDDER, SPLITTER, document, embed, open_index, records
from tests.profiles import quick

_ROOT = Path(__file__).parents[2]
_SECONDS = 120
DOCUMENTS = [document(f"d{number}", 1, 40) for number in range(8)]
LEAVES = 320  # of these, one a sentence
FILES = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes()) or bytearray(1)
    content[len(content) // 3] ^= 4
    path.write_bytes(content)


def delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {each.__name__: each for each in (cut, empty, flip, delete)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which Chroma has written its vector files, and what is in it."""
    place = tmp_path_factory.mktemp("whole") / "kb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_chroma._HNSW, "sync_threshold", 100)
        with open_index({"path": str(place)}) as index:
            index.add(DOCUMENTS)
            return place, records(index)


def vectors(folder: Path) -> Path:
    """Where Chroma keeps the leaves' vectors."""
    (recorded,) = (folder / "leafspan.vectors").glob("*.json")
    return folder / recorded.stem


class Counting:
    """The embedder of these tests, which counts the texts that it embeds apart from the probe."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.embedder = Embedder(EMBEDDER.name, self._embed, self._embed, local=True)

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        return embed(texts)


def check_repaired(folder: Path, before: dict[str, Any]) -> list[Finding]:
    """A doctor makes everything as it was without embedding a leaf; what it has found."""
    counting = Counting()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of what was damaged
        with Index.open(folder, embedder=counting.embedder, splitter=SPLITTER) as index:
            assert len(index.retrieve("anything", Vector(), k=ALL, candidates=ALL)) == LEAVES
            findings = index.repair()
            assert all(each.repaired for each in findings)
            assert index.repair(verify=True) == []
            assert not any(text in each.text for text in counting.texts for each in DOCUMENTS)
            check_same(records(index), before)
            asked = index.client.get_collection("kb.leaves", embedding_function=None)
            assert len(asked.query(query_embeddings=embed(["anything"]), n_results=LEAVES)["ids"][0]) == LEAVES
    assert not list(folder.rglob("*.coming"))
    return findings


def check_same(found: dict[str, Any], before: dict[str, Any]) -> None:
    assert found["manifest"] == before["manifest"]
    assert found["leaves"].keys() == before["leaves"].keys()
    for id_, (text, metadata, vector) in before["leaves"].items():
        assert found["leaves"][id_][:2] == (text, metadata)
        assert np.allclose(found["leaves"][id_][2], vector, atol=1e-5)


def check_case(folder: Path, whole: tuple[Path, dict[str, Any]], name: str, kind: str) -> None:
    """A file of Chroma's, or the folder of all of them, is damaged in this way."""
    place = shutil.copytree(whole[0], folder / "kb")
    DAMAGES[kind](vectors(place) / name)
    check_repaired(place, whole[1])


@pytest.mark.parametrize(
    ("name", "kind"), quick(1, [("", "delete"), ("data_level0.bin", "flip"), ("index_metadata.pickle", "cut")])
)
def test_vectors_are_rebuilt_without_embedding_anything(
    tmp_path: Path, whole: tuple[Path, dict[str, Any]], name: str, kind: str
):
    check_case(tmp_path, whole, name, kind)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [*itertools.product(FILES, DAMAGES)][::3])
def test_vectors_are_rebuilt_without_embedding_anything_after_damage_to_any_file(
    tmp_path: Path, whole: tuple[Path, dict[str, Any]], name: str, kind: str
):
    check_case(tmp_path, whole, name, kind)


@pytest.mark.filterwarnings("ignore:Chroma's vectors of:RuntimeWarning")
def test_it_notices_files_that_are_damaged_while_chroma_has_them_open(tmp_path: Path, whole: tuple[Path, dict[str, Any]]):
    place = shutil.copytree(whole[0], tmp_path / "kb")
    counting = Counting()
    with Index.open(place, embedder=counting.embedder, splitter=SPLITTER) as index:
        assert index.repair() == []  # opens Chroma
        flip(vectors(place) / "data_level0.bin")
        name = vectors(place).name
        said = "Chroma's vectors were damaged while they were in use (data_level0.bin)"
        assert index.check() == [Finding(name, said, repaired=False)]
        assert index.repair() == [Finding(name, said, repaired=True)]
        assert index.repair(verify=True) == []
        assert counting.texts == ["The quick brown fox jumps over the lazy dog."] * bool(counting.texts)
    assert check_repaired(place, whole[1]) == []


def test_the_next_add_writes_all_vectors_again_after_their_files_were_lost(
    tmp_path: Path, whole: tuple[Path, dict[str, Any]]
):
    place = shutil.copytree(whole[0], tmp_path / "kb")
    shutil.rmtree(vectors(place))
    counting = Counting()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the lost files
        with Index.open(place, embedder=counting.embedder, splitter=SPLITTER) as index:
            index.add([document("new", 1, 3)])
            leaves = index.client.get_collection("kb.leaves", embedding_function=None)
            nearest = leaves.query(query_embeddings=embed(["anything"]), n_results=2 * LEAVES)["ids"][0]
    assert len(nearest) > LEAVES
    assert not any(text in each.text for text in counting.texts for each in DOCUMENTS)


def leave_half_written(folder: Path) -> None:
    """Leave what a writer leaves that was killed while Chroma wrote its vector files."""
    changes = ChangeFile(folder / "leafspan.changes")
    changes.touching = changes.writing = True
    for header in folder.glob("*/header.bin"):
        header.write_bytes(header.read_bytes()[:10])


@pytest.mark.parametrize("built", [False, True])
def test_trees_are_built_after_a_writer_was_killed_while_chroma_wrote_its_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: bool
):
    place = tmp_path / "kb"
    build = partial(Index.build_tree, max_layers=1, across_documents=True, progress=False)
    monkeypatch.setitem(_chroma._HNSW, "sync_threshold", 3 if built else 8)
    with open_index({"path": str(place)}) as index:
        index.add([document(f"d{number}", 1, 4) for number in range(2)])
        if built:
            build(index)
        before = records(index)
    leave_half_written(place)
    with open_index({"path": str(place)}) as index:
        again = build(index)
        assert (again.unchanged, again.summaries) == ((2, 0) if built else (0, 3))
        assert not index._store.has_lost
        check_same(records(index), before)


def test_an_index_is_copied_after_a_writer_was_killed_while_chroma_wrote_its_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "kb"
    monkeypatch.setitem(_chroma._HNSW, "sync_threshold", 8)
    with open_index({"path": str(place)}) as index:
        index.add([document(f"d{number}", 1, 4) for number in range(2)])
        before = records(index)
    leave_half_written(place)
    with open_index({"path": str(place)}) as index:
        assert index.copy_to(tmp_path / "copy", progress=False).leaves == 8
    with open_index({"path": str(tmp_path / "copy")}) as index:
        check_same({**records(index), "manifest": before["manifest"]}, before)


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["die_at_write", "die"])
def test_after_a_kill_at_any_step_of_rebuilding_vectors_the_next_repair_goes_on(
    tmp_path: Path, fork_server: ForkServer, whole: tuple[Path, dict[str, Any]], how: str
):
    lost = shutil.copytree(whole[0], tmp_path / "lost")
    shutil.rmtree(vectors(lost))
    for step in itertools.count():
        place = shutil.copytree(lost, tmp_path / "kb")
        dying = {how: [str(place), step] if how == "die_at_write" else step}
        code = fork_server.write({"path": str(place)}, doctor=True, **dying)
        assert code in (0, -signal.SIGKILL)
        check_repaired(place, whole[1])
        shutil.rmtree(place)
        if code == 0:
            break
    assert step > (8 if how == "die_at_write" else 0), "there are fewer steps than were to be tried"


_ON_A_FULL_DISK = """
import json, sys, warnings
from pathlib import Path
from leafspan import LeafspanError, Vector
from leafspan.errors import StorageFull
from tests.durability.test_vector_repair import ALL, LEAVES, Counting, SPLITTER
from leafspan import Index

folder, fill = sys.argv[1:]
warnings.simplefilter("ignore")
errors = []
with Index.open(folder, embedder=Counting().embedder, splitter=SPLITTER, timeout=5) as index:
    try:
        index.repair()
    except StorageFull as error:
        errors.append(str(error))
    try:
        assert len(index.retrieve("anything", Vector(), k=ALL, candidates=ALL)) == LEAVES
    except LeafspanError as error:
        errors.append(str(error))
Path(fill).unlink()
print(json.dumps(errors))
"""


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 40, 150, 400, 1000])
def test_where_the_disk_is_full_while_vectors_are_rebuilt_the_next_repair_goes_on(
    small_disk: Path,  # noqa: F811
    whole: tuple[Path, dict[str, Any]],
    left: int,
):
    place = shutil.copytree(whole[0], small_disk / "kb")
    shutil.rmtree(vectors(place))
    fill = small_disk / "fill"
    free = shutil.disk_usage(small_disk).free
    fill.write_bytes(bytes(free - left * 1024))
    command = [sys.executable, "-W", "ignore", "-c", _ON_A_FULL_DISK, str(place), str(fill)]
    done = warm.run(command, check=False, cwd=_ROOT, capture_output=True, text=True, timeout=_SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert all("make space on that disk" in each or "disk is full" in each for each in json.loads(done.stdout)), done.stdout
    check_repaired(place, whole[1])
