"""Copies of an index to another store and back: every record, after a kill, and beside writers and readers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from psycopg_pool import ConnectionPool
from qdrant_client import QdrantClient
from typer.testing import CliRunner

from leafspan import BM25, Document, Hybrid, Index, InvalidArgument, Tree, Vector
from leafspan.cli import app
from leafspan.engines.postgres import Postgres
from leafspan.errors import ConcurrentUpdate, IndexMismatch
from leafspan.flows import run
from leafspan.indexing import _copying
from leafspan.store import Row, Texts
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.engines.page import page
from tests.profiles import quick

STORES = ("folder", "memory", "postgres", "qdrant")


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], dict[str, Any]]]:
    """A function from the kind of a store to where a new one of that kind is."""
    pools: list[Any] = []

    def placed(kind: str) -> dict[str, Any]:
        if kind == "folder":
            return {"path": tmp_path / uuid4().hex}
        if kind == "memory":
            return {"client": page()["MemoryEngine"]()}
        if kind == "qdrant":
            return {"client": QdrantClient(":memory:")}
        pools.append(ConnectionPool(request.getfixturevalue("pgvector_server"), min_size=1, max_size=4, open=True))
        return {"client": Postgres(pools[-1], schema=f"s{uuid4().hex}")}

    yield placed
    for pool in pools:
        pool.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of the small corpus, with a tree and a document that was replaced."""
    folder = tmp_path_factory.mktemp("whole") / "source"
    with Index.open(folder, splitter=SPLITTER) as index:
        index.add(Document(DOCUMENTS[0].id, "Another text."))
        index.add(DOCUMENTS)
        index.build_tree(progress=False)
    return folder


@pytest.fixture
def forest(whole: Path, tmp_path: Path) -> Iterator[Index]:
    with Index.open(shutil.copytree(whole, tmp_path / "source")) as index:
        yield index


def unmarked(row: Row) -> Row:
    """The row without the name of the index that it was copied from."""
    return replace(row, extra={key: value for key, value in row.extra.items() if key != _copying.COPIED_KEY})


def everything(index: Index) -> dict[str, Any]:
    """All that is stored of an index and its trees: rows, and records of leaves with their vectors.

    Chroma stores vectors with length 1, which changes the last bit of some.
    """
    found: dict[str, Any] = {}
    trees = run(index._sources.trees.existing())
    for name, store in (("index", index._store), ("trees", trees.store if trees else None)):
        if store is not None:
            rows = run(_copying._rows(store))
            found[name] = {id_: unmarked(row) for id_, row in rows.items()}
            read = partial(_copying._documents, source=store, ids=list(rows))
            documents = run(_copying.read_consistently(store, read))
            for each in documents:
                vectors = np.asarray(each.vectors, np.float32)
                found["vectors", name, each.row.document_id] = pytest.approx(vectors, abs=5e-8)
                found[name, each.row.document_id] = (unmarked(each.row), list(each.texts), list(map(dict, each.metadatas)))
            texts = Texts(store, 1.0)
            found[name, "texts"] = run(texts.get(run(texts.keys())))
    found["embedder"] = run(index._store.embedder())
    found["settings"] = index._store.settings
    return found


def check_equal(copy: Index, index: Index) -> None:
    """Check that the same is stored of both."""
    found, expected = everything(copy), everything(index)
    assert found.keys() == expected.keys()
    for key, value in found.items():
        assert (value.expected if key[0] == "vectors" else value) == expected[key], key


@pytest.mark.parametrize("kind", quick(1, reversed(STORES)))
def test_a_copy_there_and_back_is_equal_record_for_record(
    forest: Index, place: Callable[[str], dict[str, Any]], tmp_path: Path, kind: str
):
    there = place(kind)
    copied = forest.copy_to(**there, name="copy", progress=False)
    assert (copied.documents, copied.written) == (len(DOCUMENTS), len(DOCUMENTS))
    assert copied.summaries > 0
    with Index.open(**there, name="copy", create=False, cache_dir=tmp_path / "cache") as copy:
        check_equal(copy, forest)
        assert copy.check() == []
        for strategy in (BM25(), Vector(), Hybrid(), Tree(base=Hybrid())):
            assert lists(copy, strategy) == lists(forest, strategy)
        copy.copy_to(tmp_path / "back", progress=False)
        assert copy.add(DOCUMENTS).unchanged == len(DOCUMENTS)
    with Index.open(tmp_path / "back", create=False) as back:
        check_equal(back, forest)
        assert back.check(verify=True) == []


def lists(index: Index, strategy: Any) -> list[list[tuple[str, Any]]]:
    return [
        [(each.id, pytest.approx(each.score, abs=1e-6)) for each in index.retrieve(q, strategy, k=8)] for q in QUESTIONS
    ]


def test_a_copy_that_was_interrupted_goes_on(forest: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each document is written once. What was half written when it was killed is written again."""
    monkeypatch.setattr(_copying, "_GROUP", 1)
    written: list[str] = []
    write = _copying._write

    def stopping(target: Any, ids: Any, *given: Any) -> Any:
        if len(written) == 1:
            written.append("stopped")
            raise KeyboardInterrupt
        written.extend(ids)
        yield from write(target, ids, *given)

    monkeypatch.setattr(_copying, "_write", stopping)
    with pytest.raises(KeyboardInterrupt):
        forest.copy_to(tmp_path / "copy", progress=False)
    copied = forest.copy_to(tmp_path / "copy", progress=False)
    assert (copied.documents, copied.written) == (len(DOCUMENTS), len(DOCUMENTS) - 1)
    assert forest.copy_to(tmp_path / "copy", progress=False).written == 0
    with Index.open(tmp_path / "copy", create=False) as copy:
        check_equal(copy, forest)


def test_what_is_changed_while_it_is_copied_is_copied_too(forest: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_copying, "_GROUP", 1)
    changes = [
        lambda: forest.add(Document("new", "A new document about cats.")),
        lambda: forest.delete([DOCUMENTS[0].id]),
        lambda: forest.add(Document(DOCUMENTS[1].id, "It was replaced while it was copied.")),
    ]
    write = _copying._write

    def changing(*given: Any) -> Any:
        yield from write(*given)
        if changes:
            changes.pop(0)()

    monkeypatch.setattr(_copying, "_write", changing)
    forest.copy_to(tmp_path / "copy", progress=False)
    with Index.open(tmp_path / "copy", create=False) as copy:
        check_equal(copy, forest)
        assert copy.count() == len(DOCUMENTS)
    ids = iter(range(100))
    changes[:] = [lambda: forest.add(Document("new", f"Text {next(ids)}.")) for _ in range(50)]
    changes.pop()()
    with pytest.raises(ConcurrentUpdate, match="documents were changed faster than they were copied"):
        forest.copy_to(tmp_path / "copy", progress=False)


@pytest.mark.parametrize("kind", quick(1, ["memory", "folder", "postgres", "qdrant"]))
def test_a_copy_follows_changes_of_the_source(
    forest: Index, place: Callable[[str], dict[str, Any]], tmp_path: Path, kind: str
):
    there = {**place(kind), "name": "copy"}
    changes: list[Callable[[], object]] = [
        lambda: forest.delete([DOCUMENTS[0].id]),
        lambda: forest.add([Document("new", "A new one."), Document(DOCUMENTS[1].id, "It was replaced.")]),
        lambda: (forest.delete(["new"]), forest.add(DOCUMENTS[0]), forest.build_tree(progress=False)),
        lambda: forest.delete([each.id for each in forest.documents()]),
    ]
    for change in (lambda: None, *changes):
        change()
        forest.copy_to(**there, progress=False)
        with Index.open(**there, create=False, cache_dir=tmp_path / "cache") as copy:
            check_equal(copy, forest)
            assert copy.check() == []


def test_a_copy_keeps_what_somebody_has_added_to_it(forest: Index, tmp_path: Path):
    forest.copy_to(tmp_path / "copy", progress=False)
    forest.delete([DOCUMENTS[0].id, DOCUMENTS[1].id])
    with Index.open(tmp_path / "copy", create=False) as copy:
        copy.add([Document("mine", "This is mine."), Document(DOCUMENTS[1].id, "I have replaced it here.")])
    with pytest.raises(InvalidArgument, match=r"has 2 documents that .* has not, such as .*'mine'.*: delete them there"):
        forest.copy_to(tmp_path / "copy", progress=False)
    with Index.open(tmp_path / "copy", create=False) as copy:
        assert copy.count() == len(DOCUMENTS) + 1
        copy.delete(["mine", DOCUMENTS[1].id])
    forest.copy_to(tmp_path / "copy", progress=False)
    with Index.open(tmp_path / "copy", create=False) as copy:
        check_equal(copy, forest)


def test_what_cannot_become_a_copy_is_refused_before_anything_is_written(forest: Index, tmp_path: Path):
    with pytest.raises(InvalidArgument, match="cannot be copied onto itself"):
        forest.copy_to(tmp_path / "source")
    with Index.open(tmp_path / "other") as other:
        other.add(Document("a", "An A."))
    with pytest.raises(IndexMismatch, match="was made with other settings"):
        forest.copy_to(tmp_path / "other")
    with Index.open(tmp_path / "more", splitter=SPLITTER) as more:
        more.add(Document("mine", "This is mine."))
    with pytest.raises(InvalidArgument, match=r"has 1 documents that .* has not, such as 'mine': delete them there"):
        forest.copy_to(tmp_path / "more")
    with Index.open(tmp_path / "embedder", splitter=SPLITTER, embedder=lambda texts: [[1.0, 0.5]] * len(texts)) as another:
        another.add(DOCUMENTS[0])
    with pytest.raises(IndexMismatch, match="was made with another embedder"):
        forest.copy_to(tmp_path / "embedder")
    with pytest.raises(InvalidArgument, match="give either a path or a client"):
        forest.copy_to()
    for path in ("other", "more", "embedder"):
        with Index.open(tmp_path / path, create=False, embedder=None) as kept:
            assert kept.count() == 1


async def test_an_empty_index_is_copied_and_the_asynchronous_twin_does_the_same(forest: Index, tmp_path: Path):
    with Index.open(tmp_path / "empty", splitter=SPLITTER) as empty:
        copied = await empty.acopy_to(tmp_path / "copy", progress=False)
        assert (copied.documents, copied.leaves, copied.summaries, copied.written) == (0, 0, 0, 0)
    assert (await forest.acopy_to(tmp_path / "copy", progress=False)).written == len(DOCUMENTS)


def test_the_command_copies(forest: Index, tmp_path: Path):
    done = CliRunner().invoke(app, ["copy", str(tmp_path / "source"), str(tmp_path / "copy"), "--to-name", "other"])
    assert done.exit_code == 0, done.output
    assert f"{len(DOCUMENTS)} documents" in " ".join(done.output.split())
    with Index.open(tmp_path / "copy", name="other", create=False) as copy:
        check_equal(copy, forest)


def test_a_copy_may_be_in_the_same_folder_under_another_name(forest: Index, tmp_path: Path):
    forest.copy_to(tmp_path / "source", name="other", progress=False)
    with Index.open(tmp_path / "source", name="other", create=False) as copy:
        check_equal(copy, forest)
        copy.delete([DOCUMENTS[0].id])
    assert forest.count() == len(DOCUMENTS)
    assert forest.check(verify=True) == []
