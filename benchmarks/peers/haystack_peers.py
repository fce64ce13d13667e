"""Haystack with its store in memory: its auto-merging retriever and its sentence windows."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

from corpus import WORDLLAMA, Corpus

from peers._asking import Asked, Found

CANDIDATES = 24
THRESHOLD = 0.5


class Haystack:
    """The leaves and the nodes above them in two stores in memory.

    Args:
        corpus: The leaves.
    """

    def __init__(self, corpus: Corpus) -> None:
        os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is imported
        from haystack import Document
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        self._leaves = InMemoryDocumentStore(embedding_similarity_function="cosine")
        self._parents = InMemoryDocumentStore()
        children: dict[str, list[str]] = defaultdict(list)
        kin = list(corpus.nodes())
        for each in kin:
            if each.parent:
                children[each.parent].append(each.id)
        vectors = iter(corpus.vectors.tolist())
        leaves, parents = [], []
        for each in kin:
            meta: dict[str, Any] = {
                "__parent_id": each.parent,
                "__children_ids": children[each.id],
                "__level": 3 - each.level,
                "__block_size": 1,
                "source_id": each.document_id,
                "split_idx_start": each.start,
            }
            if each.level == 0:
                meta["split_id"] = int(each.id.rpartition("#")[2])
                leaves.append(Document(each.id, each.text, meta=meta, embedding=next(vectors)))
            else:
                parents.append(Document(each.id, each.text, meta=meta))
        self._leaves.write_documents(leaves)
        self._parents.write_documents(parents)

    def auto_merging(self) -> Asked:
        """Auto-merging over 24 leaves."""
        from haystack.components.retrievers import AutoMergingRetriever
        from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever

        base = InMemoryEmbeddingRetriever(self._leaves, top_k=CANDIDATES)
        merging = AutoMergingRetriever(self._parents, threshold=THRESHOLD)

        def ask(question: str) -> Found:
            found = base.run(query_embedding=embedded(question))["documents"]
            return [each.id for each in merging.run(found)["documents"]]

        async def aask(question: str) -> Any:
            found = (await base.run_async(query_embedding=embedded(question)))["documents"]
            return await merging.run_async(found)

        return Asked("Haystack AutoMergingRetriever", "merged leaves", "haystack-ai", ask, aask=aask, note="in memory")

    def windows(self, k: int) -> Asked:
        """Windows with a leaf on each side."""
        from haystack.components.retrievers import SentenceWindowRetriever
        from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever

        base = InMemoryEmbeddingRetriever(self._leaves, top_k=k)
        windows = SentenceWindowRetriever(self._leaves, window_size=1)

        def ask(question: str) -> Found:
            found = base.run(query_embedding=embedded(question))["documents"]
            assert len(windows.run(found)["context_windows"]) == k
            return [each.id for each in found]

        async def aask(question: str) -> Any:
            found = (await base.run_async(query_embedding=embedded(question)))["documents"]
            return await windows.run_async(found)

        return Asked("Haystack SentenceWindowRetriever", "windows", "haystack-ai", ask, aask=aask, note="in memory")


def embedded(question: str) -> list[float]:
    """The vector of a question."""
    vector: list[float] = WORDLLAMA.queries([question])[0].tolist()
    return vector
