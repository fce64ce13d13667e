"""LlamaIndex with its Chroma store: its vector, fusion, auto-merging and window retrievers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from corpus import WORDLLAMA, Corpus, plain_collection
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore

from peers._asking import Asked, Found

CANDIDATES = 24
AT_ONCE = 5000  # leaves; Chroma takes at most 5,461 in a call

logging.getLogger("llama_index").setLevel(logging.WARNING)  # it logs each merge


class InLlamaIndex(BaseEmbedding):
    """WordLlama for LlamaIndex."""

    def _get_text_embedding(self, text: str) -> list[float]:
        embedded: list[float] = WORDLLAMA.documents([text])[0].tolist()
        return embedded

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class Nodes:
    """The leaves in LlamaIndex's own Chroma store, once they are added, and the nodes above them in memory.

    Args:
        client: Chroma client for the collections.
        corpus: The leaves.
    """

    def __init__(self, client: Any, corpus: Corpus) -> None:
        self._client = client
        self._corpus = corpus
        self.docstore = SimpleDocumentStore()
        self.leaves = self._related()
        self.docstore.add_documents(list(self._above.values()))
        self._store = ChromaVectorStore(chroma_collection=plain_collection(client, "llamaindex"))
        self._index = VectorStoreIndex.from_vector_store(self._store, embed_model=InLlamaIndex())

    def add(self, rows: slice) -> None:
        """Store leaves with their vectors."""
        self._add(self._store, self.leaves, rows)

    def vectors(self, k: int, **options: Any) -> BaseRetriever:
        """Its retriever by vectors."""
        retriever: BaseRetriever = self._index.as_retriever(similarity_top_k=k, **options)
        return retriever

    def asked_by_vectors(self, k: int) -> Asked:
        """The retriever by vectors, ready to be asked."""

        def within(question: str, first: int, last: int) -> Found:
            filters = MetadataFilters(
                filters=[
                    MetadataFilter(key="book", operator=FilterOperator.GTE, value=first),
                    MetadataFilter(key="book", operator=FilterOperator.LT, value=last),
                ]
            )
            return ids_of(self.vectors(k, filters=filters).retrieve(question))

        return asked("LlamaIndex VectorIndexRetriever", "vectors", self.vectors(k), within=within, count=k)

    def bm25(self, k: int) -> BaseRetriever:
        """Its retriever by words, which keeps all leaves in memory."""
        from llama_index.retrievers.bm25 import BM25Retriever

        retriever: BaseRetriever = BM25Retriever.from_defaults(nodes=self.leaves, similarity_top_k=k)
        return retriever

    def fusion(self, k: int) -> Asked:
        """Vectors and words, fused, 24 results of each, without further queries by a language model."""
        retriever = QueryFusionRetriever(
            [self.vectors(CANDIDATES), self.bm25(CANDIDATES)],
            llm=MockLLM(),
            similarity_top_k=k,
            num_queries=1,
            mode="reciprocal_rerank",  # type: ignore[arg-type]
            use_async=False,
        )
        return asked("LlamaIndex QueryFusionRetriever", "words and vectors", retriever)

    def auto_merging(self) -> Asked:
        """Auto-merging over 24 leaves."""
        base: Any = self.vectors(CANDIDATES)
        retriever = AutoMergingRetriever(base, StorageContext.from_defaults(docstore=self.docstore))
        return asked("LlamaIndex AutoMergingRetriever", "merged leaves", retriever)

    def windows(self, k: int) -> Asked:
        """Leaves with a window in their metadata, one leaf on each side, which replaces their text."""
        from llama_index.core.postprocessor import MetadataReplacementPostProcessor

        leaves = []
        for _, several in groupby(
            zip(self._corpus.ids, self._corpus.texts, strict=True), lambda each: each[0].split("#")[0]
        ):
            row = list(several)
            for place, (id_, text) in enumerate(row):
                window = " ".join(each for _, each in row[max(0, place - 1) : place + 2])
                metadata = {"window": window, "original_text": text}
                leaves.append(
                    TextNode(
                        id_=id_, text=text, metadata=metadata, excluded_embed_metadata_keys=["window", "original_text"]
                    )
                )
        store = ChromaVectorStore(chroma_collection=plain_collection(self._client, "windows"))
        self._add(store, leaves, slice(0, len(leaves)))
        base = VectorStoreIndex.from_vector_store(store, embed_model=InLlamaIndex()).as_retriever(similarity_top_k=k)
        replace = MetadataReplacementPostProcessor(target_metadata_key="window")

        def ask(question: str) -> Found:
            return ids_of(replace.postprocess_nodes(base.retrieve(question)))

        async def aask(question: str) -> Any:
            return await replace.apostprocess_nodes(await base.aretrieve(question))

        return Asked("LlamaIndex sentence windows", "windows", "llama-index-core", ask, aask=aask)

    def _related(self) -> list[TextNode]:
        nodes: dict[str, TextNode] = {}
        kin = list(self._corpus.nodes())
        books = {document.id: dict(document.metadata) for document in self._corpus.documents}
        for each in kin:
            metadata = books[each.document_id] if each.level == 0 else {}
            nodes[each.id] = TextNode(id_=each.id, text=each.text, metadata=metadata, relationships={})
        for each in kin:
            if each.parent is None:
                continue
            nodes[each.id].relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=each.parent)
            children: Any = nodes[each.parent].relationships.setdefault(NodeRelationship.CHILD, [])
            children.append(RelatedNodeInfo(node_id=each.id))
        self._above = {each.id: nodes[each.id] for each in kin if each.level > 0}
        return [nodes[id_] for id_ in self._corpus.ids]

    def _add(self, store: ChromaVectorStore, leaves: Sequence[TextNode], rows: slice) -> None:
        for first in range(rows.start, rows.stop, AT_ONCE):
            some = list(leaves[first : min(first + AT_ONCE, rows.stop)])
            for leaf, vector in zip(some, self._corpus.vectors[first : first + len(some)].tolist(), strict=True):
                leaf.embedding = vector
            store.add(some)
            for leaf in some:
                leaf.embedding = None


def ids_of(nodes: Sequence[NodeWithScore]) -> Found:
    """The ids of a retriever's results."""
    return [each.node.node_id for each in nodes]


def asked(name: str, kind: str, retriever: BaseRetriever, **more: Any) -> Asked:
    """A LlamaIndex retriever, ready to be asked."""

    def ask(question: str) -> Found:
        return ids_of(retriever.retrieve(QueryBundle(question)))

    async def aask(question: str) -> Any:
        return await retriever.aretrieve(QueryBundle(question))

    return Asked(name, kind, "llama-index-core", ask, aask=aask, **more)
