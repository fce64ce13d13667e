"""What is stored in another format, or is no index at all, is refused before anything is read or written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import chromadb
import pytest

from leafspan import Document, Index
from leafspan.errors import IndexMismatch
from leafspan.store import Row

STORES = pytest.mark.parametrize("store", ["folder", "server"])


@pytest.fixture
def opening(request: pytest.FixtureRequest, tmp_path: Path, store: str):
    """A function that opens the same index again and again."""
    name = f"kb-{tmp_path.name}"
    if store == "folder":
        return lambda: Index.open(tmp_path / "kb", name=name)
    host, port = request.getfixturevalue("chroma_server")
    client = chromadb.HttpClient(host, port, settings=chromadb.Settings(anonymized_telemetry=False))
    return lambda: Index.open(client=client, name=name)


def manifest(index: Index, tmp_path: Path):
    return index.client.get_collection(f"kb-{tmp_path.name}.manifest", embedding_function=None)


@STORES
@pytest.mark.parametrize("format_", ["0", "3", 1, None])
def test_an_index_in_another_format_is_refused(opening, tmp_path, format_):
    with opening() as index:
        handle = manifest(index, tmp_path)
        settings = {**json.loads(handle.metadata["leafspan"]), "format": format_}
        handle.modify(metadata={**handle.metadata, "leafspan": json.dumps(settings)})
    with pytest.raises(
        IndexMismatch, match=rf"^the index is stored in format {format_!r}, this version of leafspan reads '1' and '2': "
    ) as raised:
        opening()
    assert json.loads(str(raised.value).partition(": ")[2]) == settings


@STORES
def test_a_collection_that_leafspan_did_not_make_is_refused(opening, tmp_path):
    with opening() as index:
        manifest(index, tmp_path).modify(metadata={"made": "by somebody else"})
    with pytest.raises(
        IndexMismatch, match=r"the Chroma collection '.*' was not made by leafspan \(it is empty\): choose another name"
    ):
        opening()


def test_the_trees_of_an_index_are_no_index(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("plan", "The budget. The salary. " * 30))
        index.build_tree()
    with pytest.raises(IndexMismatch, match="these are the trees of another index; open that one"):
        Index.open(tmp_path / "kb", name="kb.tree")


@pytest.mark.usefixtures("leaves_from_chroma")
def test_a_leaf_in_another_format_is_refused_where_it_is_read(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("plan", "The budget."))
        leaves = index.client.get_collection("kb.leaves", embedding_function=None)
        manifest = index.client.get_collection("kb.manifest", embedding_function=None)
        (id_,) = leaves.get()["ids"]
        leaves.update(ids=[id_], metadatas=[{"leafspan": "2|0,0,11,2|0,0,1,0,11,2"}])
        row = Row.unpack("plan", manifest.get(ids=["plan"])["metadatas"][0])
        manifest.update(ids=["plan"], metadatas=[replace(row, checksums="").pack()])
    with Index.open(tmp_path / "kb") as index, pytest.raises(IndexMismatch, match=rf"leaf '{id_}' is stored in format '2'"):
        index.retrieve("budget")
