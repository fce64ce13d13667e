"""Other formats, and folders without an index, are refused before anything is read or written."""

from __future__ import annotations

import json
from pathlib import Path

import chromadb
import pytest

from leafspan import Document, Index
from leafspan.errors import IndexMismatch
from tests.rows import collection

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
    return collection(index, f"kb-{tmp_path.name}.manifest")


@STORES
@pytest.mark.parametrize("format_", ["0", "1", "3", "5", 4, None])
def test_an_index_in_another_format_is_refused(opening, tmp_path, format_):
    with opening() as index:
        handle = manifest(index, tmp_path)
        settings = {**json.loads(handle.metadata["leafspan"]), "format": format_}
        handle.modify(metadata={**handle.metadata, "leafspan": json.dumps(settings)})
    said = rf"^the index is stored in format {format_!r}, and this version of leafspan reads format '4': open it with the version"
    with pytest.raises(IndexMismatch, match=said):
        opening()


@STORES
def test_a_collection_that_leafspan_did_not_make_is_refused(opening, tmp_path):
    with opening() as index:
        if getattr(index._store, "_folder", None) is None:
            manifest(index, tmp_path).modify(metadata={"made": "by somebody else"})
        else:
            leaves = index.client.get_collection(f"kb-{tmp_path.name}.leaves", embedding_function=None)
            leaves.modify(metadata={"made": "by somebody else"})
            manifest(index, tmp_path).forget()
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
