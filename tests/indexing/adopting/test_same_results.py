"""Vector search finds the same in a collection and in the index that adopted it.

Both Chroma collections are searched by an approximate index (HNSW), each built by itself and in another order. So a result that
is among the nearest can be missing in either. What is returned is compared exactly: the scores of both are those that numpy
computes from the vectors, and the lists differ only where one of them misses a record that the exact list has. The exact
search of the index, which a filter brings about, must give the exact list itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever

import leafspan
from leafspan import F, Index, Passage, Vector
from tests.indexing.adopting.collections import (
    LangChainEmbedder,
    LlamaIndexEmbedder,
    chroma,
    langchain_store,
    llamaindex_index,
    plain_collection,
    text,
    vectors,
)

K = 10
QUESTIONS = [f"Which sentence tells of {words}?" for words in ("amber kettles", "a river", "willow and yarrow", "falcons")]

Nearest = Callable[[Sequence[float], int], list[tuple[str, float]]]


def made_by_langchain(client: Any, chunks: int) -> tuple[Any, Any, Nearest, Any]:
    texts = {f"{number}.txt": text(60, number) for number in range(chunks // 45 + 1)}
    store = langchain_store({"client": client}, texts)

    def nearest(vector: Sequence[float], k: int) -> list[tuple[str, float]]:
        # The documents that similarity_search_by_vector returns do have their distances, under another name.
        found = store.similarity_search_by_vector_with_relevance_scores(list(vector), k)
        assert [document.id for document in store.similarity_search_by_vector(list(vector), k)] == [
            document.id for document, _ in found
        ]
        # LangChain's collections compare by Chroma's default, the square of l2. For vectors of length 1 that is 2 - 2 cosine.
        return [(str(document.id), 1 - distance / 2) for document, distance in found]

    return store, store._collection, nearest, LangChainEmbedder()


def made_by_llamaindex(client: Any, chunks: int) -> tuple[Any, Any, Nearest, Any]:
    texts = {f"{number}.txt": text(60, number) for number in range(chunks // 30 + 1)}
    options: dict[str, Any] = {"embedding_function": None, "configuration": {"hnsw": {"space": "cosine"}}}
    collection = client.create_collection("nodes", **options)
    index = llamaindex_index(collection, texts)

    def nearest(vector: Sequence[float], k: int) -> list[tuple[str, float]]:
        from llama_index.core import QueryBundle

        retriever = VectorIndexRetriever(index, similarity_top_k=k, embed_model=LlamaIndexEmbedder())
        found = retriever.retrieve(QueryBundle("", embedding=list(vector)))
        # ChromaVectorStore turns a distance into exp(-distance).
        return [(node.node_id, 1 + float(np.log(node.score or 0.0))) for node in found]

    return index, collection, nearest, LlamaIndexEmbedder()


def made_by_chroma(client: Any, chunks: int) -> tuple[Any, Any, Nearest, Any]:
    collection = plain_collection(client, [text(1, number) for number in range(chunks)])

    def nearest(vector: Sequence[float], k: int) -> list[tuple[str, float]]:
        found = collection.query(query_embeddings=[list(vector)], n_results=k, include=["distances"])
        return [(id_, 1 - distance) for id_, distance in zip(found["ids"][0], found["distances"][0], strict=True)]

    return collection, collection, nearest, None


MAKERS = pytest.mark.parametrize("make", [made_by_langchain, made_by_llamaindex, made_by_chroma])
SIZES = pytest.mark.parametrize("chunks", [150, pytest.param(3_000, marks=pytest.mark.slow)])


@MAKERS
@SIZES
def test_vector_results_are_equal_before_and_after(tmp_path: Path, make: Any, chunks: int):
    source, collection, nearest, embedder = make(chroma(tmp_path / "chroma"), chunks)
    ids, matrix = all_vectors(collection)
    assert len(ids) >= chunks
    report = leafspan.adopt(source, tmp_path / "kb")
    assert (report.leaves, report.skipped) == (len(ids), ())
    exact = {
        question: dict(zip(ids, (matrix @ np.asarray(vector)).tolist(), strict=True))
        for question, vector in zip(QUESTIONS, vectors(QUESTIONS), strict=True)
    }
    missed_before = missed_after = 0
    with Index.open(tmp_path / "kb", embedder=embedder) as index:
        left_out = report.added[0]
        others = set(ids) - {record_of(leaf) for leaf in index.leaves(left_out)}
        for question, scores in exact.items():
            best = nearest_of(scores, set(ids))
            before = dict(nearest(vectors([question])[0], K))
            after = found_by(index, question)
            exactly = found_by(index, question, where=F("doc_id") != left_out)
            for found in (before, after, exactly):
                assert len(found) == K
                assert found == pytest.approx({id_: scores[id_] for id_ in found}, abs=1e-5)
                assert list(found.values()) == sorted(found.values(), reverse=True)
            assert exactly.keys() == nearest_of(scores, others)
            assert before.keys() == after.keys() or best - before.keys() or best - after.keys()
            missed_before += len(best - before.keys())
            missed_after += len(best - after.keys())
    assert missed_before <= 0.05 * K * len(QUESTIONS)
    assert missed_after <= 0.05 * K * len(QUESTIONS)


def nearest_of(scores: dict[str, float], ids: set[str]) -> set[str]:
    """The records with the best scores."""
    return set(sorted(ids, key=lambda id_: -scores[id_])[:K])


def record_of(passage: Passage) -> str:
    """The id of the record that a leaf was."""
    return str(passage.metadata.get("chunk_id", passage.document_id))


def all_vectors(collection: Any) -> tuple[list[str], np.ndarray]:
    """The ids of a collection, and a matrix of its vectors brought to length 1."""
    ids = collection.get(include=[])["ids"]
    rows = []
    for start in range(0, len(ids), 5_000):
        some = collection.get(ids=ids[start : start + 5_000], include=["embeddings"])
        rows += list(zip(some["ids"], some["embeddings"], strict=True))
    matrix = np.asarray([vector for _, vector in rows], dtype=np.float64)
    return [id_ for id_, _ in rows], matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def found_by(index: Index, question: str, where: object = None) -> dict[str, float]:
    """The scores that the index gives to records, by the ids that these had."""
    found = index.retrieve(question, Vector(), k=K, where=where)
    return {record_of(passage): passage.score for passage in found}
