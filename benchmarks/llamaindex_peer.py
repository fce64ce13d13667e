"""LlamaIndex's auto-merging and sentence windows on the same questions, with the same embedder, for quality.py --peer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from span_recall import Place

if TYPE_CHECKING:
    from llama_index.core.retrievers import BaseRetriever

Results = list[list[Place]]  # for each question, best first

WINDOWS, MERGING = "LlamaIndex SentenceWindow", "LlamaIndex AutoMerging"
CANDIDATES = 24
TITLED = ", titled"  # with titles in its nodes' metadata


def retrieve_with_llamaindex(
    documents: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]
) -> dict[str, Results]:
    """The passages of LlamaIndex's auto-merging and windows of two sentences, with the same embedder."""
    from llama_index.core import Document as LlamaIndexDocument
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import get_leaf_nodes
    from llama_index.core.retrievers import AutoMergingRetriever
    from llama_index.core.storage.docstore import SimpleDocumentStore

    from leafspan.embedding import default_embedder

    logging.getLogger("llama_index").setLevel(logging.WARNING)  # it logs each merge
    embed = default_embedder().documents

    class WordLlama(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embed(texts)]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    model = WordLlama(embed_batch_size=1024)
    asked = [question["text"] for question in questions]
    texts = {document["id"]: document["text"] for document in documents}
    whole = [LlamaIndexDocument(id_=id_, text=text) for id_, text in texts.items()]
    titles = {document["id"]: document["title"] for document in documents}
    results = {}
    for suffix in ("", TITLED):
        nodes, places = _windows(whole, texts)
        retriever = VectorStoreIndex(_titled(nodes, places, titles if suffix else {}), embed_model=model).as_retriever(
            similarity_top_k=CANDIDATES
        )
        results[WINDOWS + suffix] = _ask(retriever, asked, places)

        nodes, places = _hierarchy(whole, texts)
        docstore = SimpleDocumentStore()
        docstore.add_documents(nodes)
        storage = StorageContext.from_defaults(docstore=docstore)
        leaves = _titled(get_leaf_nodes(nodes), places, titles if suffix else {})
        index = VectorStoreIndex(leaves, storage_context=storage, embed_model=model)
        vectors: Any = index.as_retriever(similarity_top_k=CANDIDATES)
        merging = AutoMergingRetriever(vectors, storage)
        results[MERGING + suffix] = _ask(merging, asked, places)
    return results


def _hierarchy(documents: Sequence[Any], texts: Mapping[str, str]) -> tuple[list[Any], dict[str, Place]]:
    """Nodes of 1024, 256 and 64 tokens, and the place of each. A node's own position is relative to its parent's start."""
    from llama_index.core.node_parser import HierarchicalNodeParser

    nodes: list[Any] = HierarchicalNodeParser.from_defaults(chunk_sizes=[1024, 256, 64]).get_nodes_from_documents(documents)
    places: dict[str, Place] = {}
    for node in nodes:
        parent = node.parent_node
        document, begin, _ = places[parent.node_id] if parent else (node.ref_doc_id, 0, 0)
        # If a text is repeated, the parser can lose the place of the next one.
        lost = node.start_char_idx is None
        start = texts[document].index(node.text, begin) if lost else begin + node.start_char_idx
        end = start + len(node.text)
        assert texts[document][start:end] == node.text, f"{node.node_id} is not at {start} of {document}"
        places[node.node_id] = (document, start, end)
    return nodes, places


def _windows(documents: Sequence[Any], texts: Mapping[str, str]) -> tuple[list[Any], dict[str, Place]]:
    """A node for each sentence, and the place of its window: from two sentences before it to two after it."""
    from llama_index.core.node_parser import SentenceWindowNodeParser

    size = 2
    nodes: list[Any] = SentenceWindowNodeParser.from_defaults(window_size=size).get_nodes_from_documents(documents)
    sentences: dict[str, list[Any]] = {}
    for node in nodes:
        sentences.setdefault(node.ref_doc_id, []).append(node)
    places: dict[str, Place] = {}
    for document, row in sentences.items():
        bounds = []
        end = 0
        for node in row:
            start = texts[document].index(node.text, end)
            end = start + len(node.text)
            bounds.append((start, end))
        for number, node in enumerate(row):
            first, last = max(0, number - size), min(len(row) - 1, number + size)
            places[node.node_id] = (document, bounds[first][0], bounds[last][1])
    return nodes, places


def _titled(nodes: Sequence[Any], places: Mapping[str, Place], titles: Mapping[str, str]) -> Sequence[Any]:
    """The nodes with their documents' titles. The titles come after parsing, which would otherwise cut shorter nodes."""
    for node in nodes:
        document, _, _ = places[node.node_id]
        if document in titles:
            node.metadata["title"] = titles[document]
    return nodes


def _ask(retriever: BaseRetriever, asked: Sequence[str], places: Mapping[str, Place]) -> Results:
    return [[places[found.node.node_id] for found in retriever.retrieve(question)] for question in asked]
