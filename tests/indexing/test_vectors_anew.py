"""Lost vectors are rebuilt from segments or texts. Until then, no result is missing without a message."""

from __future__ import annotations

import gc
import os
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings

from leafspan import BM25, DamagedIndex, Document, Embedder, F, HierarchicalSplitter, Index, Tree, Vector
from leafspan.embedding import default_embedder
from leafspan.engines.chroma import _chroma
from leafspan.engines.chroma._collection import Collection
from leafspan.engines.chroma._files import Files
from leafspan.flows import Flow
from leafspan.indexing import Finding
from tests.profiles import paired, quick
from tests.reading import distrust_chroma

ALL = 10_000
SETTINGS = Settings(anonymized_telemetry=False)
WORDLLAMA = default_embedder()
DOCUMENTS = [
    Document(f"d{n}", f"# Chapter {n}\n\n" + " ".join(f"In {n} there is sentence {m}." for m in range(12)), f"Title {n}")
    for n in range(12)
]


pytestmark = pytest.mark.usefixtures("nothing_is_taken")


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_chroma._HNSW, "sync_threshold", 40)  # so that Chroma writes its vectors to files


class Counting:
    """WordLlama, which counts the texts that it embeds, and may be down."""

    def __init__(self, *, local: bool = True) -> None:
        self.embedded = 0
        self.down = False
        self.embedder = Embedder("counting", self.documents, self.queries, local=local)

    def documents(self, texts: Sequence[str]) -> object:
        if self.down:
            raise RuntimeError("the embedder is down")
        self.embedded += len(texts)
        return WORDLLAMA.documents(texts)

    queries = documents


def made(folder: Path, *, mirrored: bool, sentences: int = 0, embedder: Embedder | None = None) -> list[str]:
    """Make an index, and return the ids of its leaves."""
    splitter = HierarchicalSplitter(leaf_words=8, parent_words=(16,))
    options = {"splitter": splitter, "context_sentences": sentences, "embedder": embedder or Counting().embedder}
    with Index.open(folder, **options) as index:
        index.add(DOCUMENTS, progress=False)
        if mirrored:
            index.retrieve("sentence", Vector(), where=F("doc_id") != "d0")
        return [leaf.id for leaf in index.leaves()]


def lose_vectors(folder: Path) -> None:
    """Delete Chroma's vectors, and leafspan's copy of them."""
    gc.collect()  # nothing has the folder open any more
    for ids in folder.glob("*/index_metadata.pickle"):
        shutil.rmtree(ids.parent)
    shutil.rmtree(folder / "leafspan.vectors")
    distrust_chroma(folder)


def found(index: Index) -> dict[str, float]:
    """The score of each leaf that a search by vectors finds."""
    return {passage.id: round(passage.score, 4) for passage in index.retrieve("sentence", Vector(), k=ALL, candidates=ALL)}


@pytest.mark.parametrize(("mirrored", "sentences"), quick(2, [(True, 0), (False, 1), (False, 0)]))
def test_lost_vectors_are_rebuilt_as_they_were(tmp_path: Path, mirrored: bool, sentences: int):
    ids = made(tmp_path / "kb", mirrored=mirrored, sentences=sentences)
    with Index.open(tmp_path / "kb", embedder=Counting().embedder) as index:
        before = found(index)
    assert len(before) == len(ids)
    del index
    if not mirrored:
        shutil.rmtree(tmp_path / "kb" / "leafspan.segments")
    lose_vectors(tmp_path / "kb")
    counting = Counting()
    with pytest.warns(RuntimeWarning, match="the next writer writes them again"):
        index = Index.open(tmp_path / "kb", embedder=counting.embedder)
    assert (counting.embedded == 0) == mirrored
    assert found(index) == before
    assert index.repair() == []
    del index
    gc.collect()
    with Index.open(tmp_path / "kb", embedder=counting.embedder) as index:  # says nothing any more
        assert found(index) == before
        assert not index._store.has_lost


def test_until_vectors_are_rebuilt_searches_by_vectors_say_so_and_others_go_on(tmp_path: Path):
    counting = Counting()
    ids = made(tmp_path / "kb", mirrored=False, embedder=counting.embedder)
    lose_vectors(tmp_path / "kb")
    other = Embedder("another", lambda texts: [[1.0] * 256] * len(texts), lambda texts: [[1.0] * 256] * len(texts))
    with pytest.warns(RuntimeWarning, match="the next writer writes them again"):
        index = Index.open(tmp_path / "kb", embedder=other)
    assert len(index.retrieve("sentence", BM25(), k=ALL, candidates=ALL)) > 0
    assert index.get("d3").text == DOCUMENTS[3].text
    findings = index.repair()
    assert {finding.document_id for finding in findings} == {document.id for document in DOCUMENTS}
    assert all(
        "leaves have no vector; repair() with the embedder that made the index" in finding.problem for finding in findings
    )
    del index
    gc.collect()
    with Index.open(tmp_path / "kb", embedder=counting.embedder) as index:
        assert len(found(index)) == len(ids)
        assert index.repair() == []


def test_an_embedder_that_costs_money_is_asked_for_many_texts_by_the_doctor_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leafspan.index._FEW_TO_EMBED", 10)
    counting = Counting(local=False)
    ids = made(tmp_path / "kb", mirrored=False, embedder=counting.embedder)
    lose_vectors(tmp_path / "kb")
    counting.embedded = 0
    with pytest.warns(RuntimeWarning, match="the next writer writes them again"):
        index = Index.open(tmp_path / "kb", embedder=counting.embedder, embedding_cache=False)
    assert counting.embedded == 0
    with pytest.raises(DamagedIndex, match=r"have not all been made again: run repair\(\)"):
        index.retrieve("sentence", Vector())
    with pytest.raises(DamagedIndex, match=r"run repair\(\)"):
        index.retrieve("sentence", Vector(), where=F("doc_id") != "d0")
    assert sum("had no vector" in finding.problem and finding.repaired for finding in index.repair()) == len(DOCUMENTS)
    assert len(found(index)) == len(ids)
    assert index.repair() == []


def test_a_doctor_finds_vectors_that_are_gone_from_files_that_nobody_has_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ids = made(tmp_path / "kb", mirrored=True)
    lose_vectors(tmp_path / "kb")
    with monkeypatch.context() as patch:  # as an earlier version, which did not look at the files
        patch.setattr(Files, "_settle", lambda *_, **__: None)
        index = Index.open(tmp_path / "kb", embedder=Counting().embedder)
        assert len(found(index)) == len(ids)  # since all of them are in segments
        looked = index.check()
        assert {finding.document_id for finding in looked} <= {document.id for document in DOCUMENTS}
        assert all("leaves have no vector; repair() with the embedder" in finding.problem for finding in looked)
        repaired = index.repair()
        assert all(finding == Finding(finding.document_id, finding.problem, True) for finding in repaired)
        assert len(found(index)) == len(ids)
        assert index.repair() == []


def test_vectors_of_trees_are_rebuilt_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(_chroma._HNSW, "sync_threshold", 6)
    counting = Counting()
    made(tmp_path / "kb", mirrored=False, embedder=counting.embedder)
    with Index.open(tmp_path / "kb", embedder=counting.embedder) as index:
        index.build_tree()
        summaries = index.stats().summaries
        before = {each.id: round(each.score, 4) for each in index.retrieve("chapter", Tree(), k=ALL, candidates=ALL)}
    assert summaries == len(DOCUMENTS)
    del index
    lose_vectors(tmp_path / "kb")
    leaves = pytest.warns(RuntimeWarning, match=r"of 'kb\.leaves' .* writes them again")
    with leaves, pytest.warns(RuntimeWarning, match=r"of 'kb\.tree\.leaves' .* writes them again"):
        index = Index.open(tmp_path / "kb", embedder=counting.embedder)
    assert {each.id: round(each.score, 4) for each in index.retrieve("chapter", Tree(), k=ALL, candidates=ALL)} == before
    assert index.repair() == []


def cut_all_links(folder: Path) -> None:
    """Cut the links of Chroma's graph. The vectors stay, and without leafspan's copy nothing says that the files differ."""
    gc.collect()  # nothing has the folder open any more
    shutil.rmtree(folder / "leafspan.vectors")
    for header in folder.glob("*/header.bin"):
        *_, size = struct.unpack_from("<iQQQQ", header.read_bytes())
        path = header.with_name("data_level0.bin")
        content = bytearray(path.read_bytes())
        for start in range(0, len(content) - size + 1, size):
            content[start : start + 4] = bytes(4)  # number of links
        path.write_bytes(content)
        os.utime(path, (0, 0))  # older than the file that Chroma writes last


@pytest.mark.parametrize("mirrored", quick(1, [True, False]))
def test_a_graph_that_reaches_no_leaf_is_reported_and_repaired_from_the_mirror_or_from_chroma(
    tmp_path: Path, mirrored: bool
):
    counting = Counting()
    made(tmp_path / "kb", mirrored=True, embedder=counting.embedder)
    cut_all_links(tmp_path / "kb")
    if not mirrored:
        shutil.rmtree(tmp_path / "kb" / "leafspan.segments")
    counting.embedded = 0
    with Index.open(tmp_path / "kb", embedder=counting.embedder) as index:
        (only,) = index.check()
        assert only.problem.startswith("searches by their own vectors missed")
        assert only.problem.endswith("; repair() writes their vectors again")
        assert not only.repaired
        (only,) = index.repair()
        assert only.repaired
        assert index.repair() == []
    assert counting.embedded <= 1  # the text that shows which embedder it is
    del index
    gc.collect()
    with Index.open(tmp_path / "kb", embedder=counting.embedder) as index:
        assert index.repair() == []


def test_what_writing_the_vectors_again_does_not_repair_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def all_of_them(_: object, ids: Sequence[str]) -> Flow[set[str]]:
        yield from ()
        return set(ids)

    made(tmp_path / "kb", mirrored=True)
    monkeypatch.setattr(Collection, "not_found", all_of_them)
    with Index.open(tmp_path / "kb", embedder=Counting().embedder) as index:
        (only,) = index.repair()
    assert not only.repaired
    assert "delete documents that repeat the same text, or add the documents to a new index" in only.problem


@pytest.mark.parametrize(("share", "client"), paired([0.1, 0.9, 1.0], [False, True]))
def test_vectors_without_a_direction_are_no_damage(tmp_path: Path, client: bool, share: float):
    """As WordLlama has them for texts without a known word. They are similar to nothing, so no search can find them."""

    def embed(texts: Sequence[str]) -> object:
        vectors = np.random.default_rng(1).normal(size=(len(texts), 6))
        return [
            [0.0] * 6 if text.split()[0] == "none" else list(vector) for text, vector in zip(texts, vectors, strict=True)
        ]

    words = ["none"] * int(share * 100) + ["some"] * int((1 - share) * 100 + 0.5)
    where = {"client": chromadb.EphemeralClient(SETTINGS)} if client else {"path": tmp_path / "kb"}
    embedder = Embedder("six", embed, embed, local=True)
    with Index.open(**where, name=f"no-direction-{share}", embedder=embedder, embedding_cache=False) as index:
        index.add([Document(f"d{n}", f"{word} {n}") for n, word in enumerate(words)], progress=False)
        assert index.repair() == []
