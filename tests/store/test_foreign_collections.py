"""Collections of others in the same Chroma: messages when an index is opened, and what is never changed."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chromadb
import pytest
from llama_index.core.schema import TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

import leafspan
from leafspan import Document, Index, IndexNotFound
from leafspan.engines.chroma._foreign import ForeignCollection
from leafspan.errors import IndexMismatch

STORES = pytest.mark.parametrize("store", ["folder", "server"])


@pytest.fixture
def client(request: pytest.FixtureRequest, tmp_path: Path, store: str) -> Any:
    settings = chromadb.Settings(anonymized_telemetry=False)
    if store == "folder":
        return chromadb.PersistentClient(str(tmp_path / "chroma"), settings=settings)
    host, port = request.getfixturevalue("chroma_server")
    return chromadb.HttpClient(host, port, settings=settings)


@pytest.fixture
def place(client: Any, tmp_path: Path, store: str) -> dict[str, Any]:
    """Where an index of a name of its own is opened."""
    name = f"docs-{tmp_path.name}"
    return {"path": tmp_path / "chroma", "name": name} if store == "folder" else {"client": client, "name": name}


def filled(client: Any, name: str, *, by_llamaindex: bool = False) -> Any:
    collection = client.create_collection(name, embedding_function=None)
    if by_llamaindex:
        ChromaVectorStore(chroma_collection=collection).add([TextNode(text="Tea is hot.", embedding=[1.0, 0.0])])
    else:
        collection.add(ids=["tea"], documents=["Tea is hot."], embeddings=[[1.0, 0.0]])
    return collection


@STORES
def test_opening_a_name_beside_a_collection_of_that_name_says_so_once_and_names_adopt(client: Any, place: dict[str, Any]):
    collection = filled(client, place["name"], by_llamaindex=True)
    said = "makes an empty index 'docs-.*' beside the Chroma collection .* written by LlamaIndex.* use leafspan.adopt"
    with pytest.warns(UserWarning, match=said):
        Index.open(**place).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Index.open(**place) as index:
            index.add(Document("bees", "Bees dance."))
    assert collection.count() == 1


@STORES
def test_an_empty_collection_and_collections_of_other_names_need_no_word(client: Any, place: dict[str, Any]):
    client.create_collection(place["name"], embedding_function=None)
    filled(client, f"{place['name']}-other")
    Index.open(**place).close()


@STORES
@pytest.mark.parametrize("suffix", ["leaves", "manifest"])
@pytest.mark.parametrize("by_llamaindex", [True, False])
def test_a_collection_of_somebody_else_that_is_called_like_ours_is_an_error_that_says_whose_it_is(
    client: Any, place: dict[str, Any], suffix: str, by_llamaindex: bool
):
    name = f"{place['name']}.{suffix}"
    collection = filled(client, name, by_llamaindex=by_llamaindex)
    whose = "LlamaIndex" if by_llamaindex else "LangChain, or by means of Chroma alone"
    said = (
        rf"the Chroma collection '{name}' was not made by leafspan \(its records were written by {whose}\): choose another"
    )
    for create in (True, False):
        with pytest.raises(IndexMismatch, match=said):
            Index.open(**place, create=create)
    with pytest.raises(IndexMismatch, match=said):
        leafspan.adopt(filled(client, f"{name}-source"), **place, dry_run=True)
    assert collection.count() == 1
    others = {each.name for each in client.list_collections()} - {name, f"{name}-source"}
    assert not {other for other in others if other.startswith(f"{place['name']}.")}


@STORES
def test_empty_leaves_of_another_distance_are_somebody_elses_too(client: Any, place: dict[str, Any]):
    client.create_collection(f"{place['name']}.leaves", embedding_function=None)  # by default, Chroma compares by l2
    with pytest.raises(IndexMismatch, match=r"was not made by leafspan \(it is empty\)"):
        Index.open(**place)


@STORES
def test_an_index_whose_manifest_was_not_made_before_a_kill_is_made_again(client: Any, place: dict[str, Any]):
    options: dict[str, Any] = {"embedding_function": None, "configuration": {"hnsw": {"space": "cosine"}}}
    client.create_collection(f"{place['name']}.leaves", metadata={"made_by": "leafspan"}, **options)
    with Index.open(**place) as index:
        assert index.count() == 0


def test_where_there_is_no_index_the_error_names_the_collections_that_could_be_adopted(tmp_path: Path):
    client = chromadb.PersistentClient(str(tmp_path / "kb"), settings=chromadb.Settings(anonymized_telemetry=False))
    filled(client, "langchain")
    with pytest.raises(
        IndexNotFound, match=r"there is no index 'kb' in .*, but there are Chroma collections \('langchain'\)"
    ):
        Index.open(tmp_path / "kb", create=False)


def test_where_there_is_no_index_of_this_name_the_error_names_those_that_there_are(tmp_path: Path):
    with Index.open(tmp_path, name="notes") as index:
        index.add(Document("a", "Tea is green. Coffee is black."))
        index.build_tree()  # which is stored as an index of its own
    with pytest.raises(IndexNotFound, match=r"there is no index 'note' in .*; there is 'notes'$"):
        Index.open(tmp_path, name="note", create=False)
    Index.open(tmp_path, name="letters").close()
    with pytest.raises(IndexNotFound, match=r"there is no index 'note' in .*; there are 'letters', 'notes'$"):
        Index.open(tmp_path, name="note", create=False)


@pytest.mark.parametrize("store", ["server"])
def test_so_does_the_error_behind_a_client(client: Any, place: dict[str, Any]):
    filled(client, f"langchain-{place['name']}")
    with pytest.raises(IndexNotFound, match=r"there is no index '.*' behind a client, but there are Chroma collections"):
        Index.open(**place, create=False)


@pytest.mark.parametrize(
    ("configuration", "metadata", "space"),
    [
        ({"hnsw": {"space": "cosine"}}, None, "cosine"),
        ({"spann": {"space": "ip"}}, None, "ip"),
        ({}, {"hnsw:space": "ip"}, "ip"),  # as before Chroma 1.0
        ({}, None, "l2"),
    ],
)
def test_a_collection_that_does_not_say_how_it_compares_vectors_has_chromas_default(configuration, metadata, space):
    handle = SimpleNamespace(id="1", name="docs", configuration_json=configuration, metadata=metadata)
    assert ForeignCollection(handle).space == space
