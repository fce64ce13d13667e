"""The leaves of an index stay readable by the vector stores of the frameworks, without leafspan."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_chroma import Chroma
from llama_index.core import VectorStoreIndex
from llama_index.vector_stores.chroma import ChromaVectorStore

from leafspan import Document, Index, Passage, Vector
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.indexing.adopting.collections import LangChainEmbedder, LlamaIndexEmbedder, chroma


@pytest.fixture(scope="module")
def leaves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Passage], dict[str, Passage]]:
    """A closed index, its leaves by id, and the nearest leaf of each question."""
    folder = tmp_path_factory.mktemp("readers") / "kb"
    with Index.open(folder, splitter=SPLITTER) as index:
        index.add([*DOCUMENTS, Document("plain", "A text without any metadata.")])
        listed = {(leaf.document_id, leaf.start): leaf for leaf in index.leaves()}
        found = {question: index.retrieve(question, Vector(), k=1)[0] for question in QUESTIONS}
        # The id of the leaf, with the score of the passage.
        nearest = {
            question: replace(passage, id=listed[passage.document_id, passage.start].id)
            for question, passage in found.items()
        }
        return folder, {leaf.id: leaf for leaf in listed.values()}, nearest


def without_place(metadata: dict[str, Any]) -> dict[str, Any]:
    """The user's metadata. The only other key is the leaf's place."""
    assert isinstance(metadata["leafspan"], str)
    return {key: value for key, value in metadata.items() if key != "leafspan"}


def test_langchain_reads_the_leaves_of_an_index(leaves: Any, tmp_path: Path):
    folder, expected, nearest = leaves
    client = chroma(shutil.copytree(folder, tmp_path / "kb"))
    store = Chroma(client=client, collection_name="kb.leaves", embedding_function=LangChainEmbedder())
    stored = store.get()
    read = dict(zip(stored["ids"], zip(stored["documents"], stored["metadatas"], strict=True), strict=True))
    assert {id_: (text, without_place(metadata)) for id_, (text, metadata) in read.items()} == {
        id_: (leaf.text, leaf.metadata) for id_, leaf in expected.items()
    }
    for question, passage in nearest.items():
        ((document, distance),) = store.similarity_search_with_score(question, k=1)
        assert (document.id, document.page_content) == (passage.id, passage.text)
        assert without_place(document.metadata) == passage.metadata
        assert 1 - distance == pytest.approx(passage.score, abs=1e-5)
    (bees,) = store.similarity_search("dance", k=1, filter={"topic": "animals"})
    assert bees.id.startswith("bees#")


def test_llamaindex_reads_the_leaves_of_an_index(leaves: Any, tmp_path: Path):
    folder, expected, nearest = leaves
    collection = chroma(shutil.copytree(folder, tmp_path / "kb")).get_collection("kb.leaves", embedding_function=None)
    store = ChromaVectorStore(chroma_collection=collection)
    nodes = {node.node_id: node for node in store.get_nodes(list(expected))}
    assert {id_: (node.text, without_place(node.metadata)) for id_, node in nodes.items()} == {
        id_: (leaf.text, leaf.metadata) for id_, leaf in expected.items()
    }
    index = VectorStoreIndex.from_vector_store(store, embed_model=LlamaIndexEmbedder())
    for question, passage in nearest.items():
        (found,) = index.as_retriever(similarity_top_k=1).retrieve(question)
        assert (found.node_id, found.text) == (passage.id, passage.text)
        assert without_place(found.metadata) == passage.metadata
