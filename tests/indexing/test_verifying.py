"""``repair(verify=True)`` compares every leaf in Chroma with the copies that answer questions, and rebuilds these."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings

from leafspan import BM25, Embedder, F, Finding, Hybrid, Index, InvalidArgument, Vector
from leafspan.embedding import default_embedder
from leafspan.errors import StorageReadOnly
from leafspan.indexing import _verifying
from leafspan.segments._segment import Segment, read_segment, write_segment
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.profiles import quick

WORDLLAMA = default_embedder()
Arrays = dict[str, np.ndarray]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree()
    return tmp_path / "kb"


def segments(folder: Path, kind: str) -> list[Path]:
    """The files of one copy of the documents."""
    with Index.open(folder) as index:
        assert index._store.cache_folder is not None
        return sorted(index._store.cache_folder.glob(f"{kind}*/*.segment"))


def alter(path: Path, change: Callable[[Arrays], None]) -> str:
    """Write a segment with other arrays and the right checksum; the id of its first document."""
    segment = read_segment(path)
    arrays = {name: array.copy() for name, array in segment.arrays.items()}
    change(arrays)
    write_segment(path, Segment(segment.documents, arrays))
    return segment.documents.id(0)


def another_count(arrays: Arrays) -> None:
    arrays["lengths"][0] += 1


def another_term(arrays: Arrays) -> None:
    """The first leaf has a term of the second leaf instead of its own first term."""
    place = int(np.flatnonzero(arrays["rows"] == 0)[0])
    other = int(np.flatnonzero(arrays["rows"] == 1)[0])
    arrays["rows"][[place, other]] = arrays["rows"][[other, place]]


def another_vector(arrays: Arrays) -> None:
    arrays["codes"][0] *= -1
    arrays["remainders"][0] *= -1


def another_code(arrays: Arrays) -> None:
    arrays["codes"][0, 0] ^= 1


def another_text(arrays: Arrays) -> None:
    arrays["texts"][0] ^= 1


def other_metadata(arrays: Arrays) -> None:
    """A digit of the first document's year."""
    place = bytes(arrays["metadata"]).index(b'"year":1') + len(b'"year":1')
    arrays["metadata"][place] ^= 1


ALTERED = {
    "words": (another_count, another_term),
    "vectors": (another_vector, another_code),
    "records": (another_text, other_metadata),
}
CONTENT = {"words": "words", "vectors": "vectors", "records": "texts, places or metadata"}


def everything(index: Index) -> list[Any]:
    found = [index.retrieve(each, strategy, k=5) for strategy in (Vector(), BM25(), Hybrid()) for each in QUESTIONS]
    found.append(index.retrieve(QUESTIONS[0], Vector(), k=5, where=F("year") > 1800))
    # Chroma brings vectors to length 1 itself, and rounds otherwise.
    return [[(each.id, each.text, each.metadata, round(each.score, 5)) for each in row] for row in found]


@pytest.mark.parametrize("place", ["folder", "server"])
def test_of_a_whole_index_and_its_trees_nothing_differs(folder: Path, place: str, request: pytest.FixtureRequest):
    if place == "folder":
        with Index.open(folder) as index:
            assert index.repair(verify=True) == []
        return
    host, port = request.getfixturevalue("chroma_server")
    client = chromadb.HttpClient(host, port, settings=Settings(anonymized_telemetry=False))
    with Index.open(client=client, name="verified", splitter=SPLITTER, cache_dir=folder / "cache") as index:
        index.add(DOCUMENTS)
        index.build_tree()
        index.retrieve(QUESTIONS[0], BM25())
        assert index.repair(verify=True) == []


@pytest.mark.parametrize(
    ("kind", "change"), quick(3, [(kind, changes[turn]) for turn in range(2) for kind, changes in ALTERED.items()])
)
def test_what_a_copy_has_otherwise_is_named_and_made_again(
    folder: Path, kind: str, change: Callable[[Arrays], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_verifying, "_GROUP", 3)
    with Index.open(folder) as index:
        expected = everything(index)
    (path,) = segments(folder, kind)
    altered = alter(path, change)
    with Index.open(folder) as index:
        everything(index)  # so that the copy is open
        looked = index.check(verify=True)
        assert altered in {each.document_id for each in looked}
        assert all(each.problem.startswith(f"its copied {CONTENT[kind]} differ from what is stored in") for each in looked)
        assert not any(each.repaired for each in looked)
        assert path.exists()
        found = index.repair(verify=True)
        assert [(each.document_id, each.problem) for each in found] == [(each.document_id, each.problem) for each in looked]
        assert all(each.repaired for each in found)
        assert not path.exists()
        assert everything(index) == expected
        assert index.repair(verify=True) == []
    with Index.open(folder) as index:
        assert everything(index) == expected
        assert index.repair(verify=True) == []


def test_a_copy_that_counts_no_more_than_another_one_is_found_as_well(folder: Path):
    (path,) = segments(folder, "vectors")
    segment = read_segment(path)
    write_segment(path.with_name(f"zz{path.name}"), Segment(segment.documents, segment.arrays))
    altered = alter(path.with_name(f"zz{path.name}"), another_vector)
    with Index.open(folder) as index:
        (found,) = index.repair(verify=True)
        assert found.document_id == altered
        assert index.repair(verify=True) == []


def test_what_the_copies_of_a_tree_have_otherwise_is_named_and_made_again(folder: Path):
    (tree,) = {*folder.glob("leafspan.segments/*/records/*")} - {*segments(folder, "records")}
    altered = alter(tree, another_text)
    with Index.open(folder) as index:
        (found,) = index.repair(verify=True)
        wanted = "its tree: its copied texts, places or metadata differ from what is stored in leaf 0"
        assert found == Finding(altered, wanted, repaired=True)
        assert index.repair(verify=True) == []


def test_behind_a_server_the_words_are_compared(tmp_path: Path, chroma_server: tuple[str, int]):
    client = chromadb.HttpClient(*chroma_server, settings=Settings(anonymized_telemetry=False))
    place: dict[str, Any] = {"client": client, "name": "compared", "splitter": SPLITTER, "cache_dir": tmp_path}
    with Index.open(**place) as index:
        index.add(DOCUMENTS)
        expected = index.retrieve(QUESTIONS[0], BM25())
        (path,) = tmp_path.glob("*/words-*/*.segment")
        altered = alter(path, another_count)
        (found,) = index.repair(verify=True)
        assert (found.document_id, found.repaired) == (altered, True)
        assert index.repair(verify=True) == []
        assert index.retrieve(QUESTIONS[0], BM25()) == expected


def test_a_file_that_is_damaged_while_it_is_open_is_named_and_made_again(folder: Path):
    with Index.open(folder) as index:
        expected = everything(index)
        (path,) = segments(folder, "vectors")
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        named = "/".join(path.parts[-3:])
        (looked,) = index.check(verify=True)
        assert (looked.document_id, looked.repaired) == (named, False)
        assert "its checksum does not match its content" in looked.problem
        assert path.exists()
        (found,) = index.repair(verify=True)
        assert (found.document_id, found.repaired) == (named, True)
        assert index.repair(verify=True) == []
        assert everything(index) == expected


class Counting:
    """WordLlama, which counts the texts that it embeds."""

    def __init__(self, *, local: bool) -> None:
        self.texts: list[str] = []
        self.embedder = Embedder("counting", self.documents, self.documents, local=local)

    def documents(self, texts: Sequence[str]) -> object:
        self.texts += texts
        return WORDLLAMA.documents(list(texts))


def damage_vector(index: Index) -> tuple[str, np.ndarray]:
    """Write another vector of one leaf to Chroma, as nobody would; the leaf, and that vector."""
    handle = index.client.get_collection("kb.leaves", embedding_function=None)
    id_ = index.leaves(DOCUMENTS[0].id)[1].id
    other = np.roll(handle.get(ids=[id_], include=["embeddings"])["embeddings"][0], 1)
    handle.update([id_], embeddings=[other])
    return id_, other


def vector(index: Index, id_: str) -> np.ndarray:
    handle = index.client.get_collection("kb.leaves", embedding_function=None)
    return np.asarray(handle.get(ids=[id_], include=["embeddings"])["embeddings"][0])


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Callable[[bool], tuple[Index, Counting]]]:
    opened: list[Index] = []

    def make(local: bool) -> tuple[Index, Counting]:
        counting = Counting(local=local)
        index = Index.open(tmp_path / "kb", splitter=SPLITTER, embedder=counting.embedder, embedding_cache=False)
        opened.append(index)
        index.add(DOCUMENTS)
        counting.texts.clear()
        return index, counting

    yield make
    for each in opened:
        each.close()


def test_of_two_vectors_that_differ_the_one_that_the_text_has_counts(counted: Callable[[bool], tuple[Index, Counting]]):
    index, counting = counted(True)
    id_ = index.leaves(DOCUMENTS[0].id)[1].id
    before = vector(index, id_)
    assert damage_vector(index)[0] == id_
    said = "the stored vector of leaf 1 does not fit its text, the copy's does"
    assert index.repair(verify=True) == [Finding(DOCUMENTS[0].id, said, repaired=True)]
    assert np.allclose(vector(index, id_), before, atol=1e-6)
    # The text of the leaf, and its title and headings.
    assert index.leaves(DOCUMENTS[0].id)[1].text in counting.texts
    assert len(counting.texts) == 2
    assert index.repair(verify=True) == []


def test_chromas_vector_counts_where_no_embedder_may_be_asked(counted: Callable[[bool], tuple[Index, Counting]]):
    index, counting = counted(False)
    id_, other = damage_vector(index)
    said = "its copied vectors differ from what is stored in leaf 1; no embedder on this machine can tell, so the stored one counts"
    assert index.repair(verify=True) == [Finding(DOCUMENTS[0].id, said, repaired=True)]
    assert counting.texts == []
    assert np.allclose(vector(index, id_), other, atol=1e-6)
    assert index.repair(verify=True) == []


def test_chromas_vector_counts_where_the_text_has_neither(folder: Path):
    (path,) = segments(folder, "vectors")
    alter(path, another_vector)
    with Index.open(folder) as index:
        document_id = read_segment(path).documents.id(0)
        handle = index.client.get_collection("kb.leaves", embedding_function=None)
        id_ = index.leaves(document_id)[0].id
        other = np.roll(vector(index, id_), 1)
        handle.update([id_], embeddings=[other])
        (found,) = index.repair(verify=True)
        assert "its text has neither when it is embedded again, so the stored one counts" in found.problem
        assert np.allclose(vector(index, id_), other, atol=1e-6)
        assert index.repair(verify=True) == []


def test_what_is_damaged_in_chroma_is_named_as_by_any_check_and_its_copy_is_left(folder: Path):
    with Index.open(folder) as index:
        before = everything(index)
        id_ = index.leaves(DOCUMENTS[0].id)[0].id
        index.client.get_collection("kb.leaves", embedding_function=None).update(
            [id_], documents=["Another text."], embeddings=[[0.1] * 256]
        )
        (found,) = index.check(verify=True)
        assert found.document_id == DOCUMENTS[0].id
        assert "copied" not in found.problem
        assert everything(index) == before  # the copy is right, and read


def test_what_is_missing_beside_chroma_is_no_difference(folder: Path):
    shutil.rmtree(folder / "leafspan.segments")
    with Index.open(folder) as index:
        assert index.repair(verify=True) == []


def test_in_a_folder_that_is_only_read_nothing_is_compared_and_all_stays(folder: Path):
    (path,) = segments(folder, "records")
    alter(path, other_metadata)
    content = path.read_bytes()
    with Index.open(folder, read_only=True) as index:
        for compare in (index.check, index.repair):
            with pytest.raises(StorageReadOnly, match=r"opened to be read only"):
                compare(verify=True)
    assert path.read_bytes() == content


def test_the_same_while_other_code_goes_on(folder: Path):
    (path,) = segments(folder, "records")
    altered = alter(path, other_metadata)

    async def verified() -> list[Finding]:
        index = await Index.aopen(folder)
        return await index.arepair(verify=True)

    assert altered in {each.document_id for each in asyncio.run(verified())}
    with Index.open(folder) as index:
        assert index.repair(verify=True) == []


def test_it_that_reads_everything_is_not_quick(folder: Path):
    with Index.open(folder) as index:
        with pytest.raises(InvalidArgument, match="quick and verify must not both be True"):
            index.repair(quick=True, verify=True)
        with pytest.raises(InvalidArgument, match="verify must be True or False"):
            index.repair(verify="yes")  # type: ignore[arg-type]
