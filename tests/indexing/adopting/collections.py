"""Collections as LangChain, LlamaIndex and Chroma alone make them, with the bundled embedder."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
from langchain_chroma import Chroma
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.vector_stores.chroma import ChromaVectorStore

from leafspan.embedding import default_embedder

_WORDS = [
    "amber",
    "basin",
    "candle",
    "delta",
    "ember",
    "falcon",
    "garnet",
    "harbour",
    "iris",
    "jasmine",
    "kettle",
    "lantern",
    "meadow",
    "nectar",
    "orchard",
    "pebble",
    "quarry",
    "river",
    "saddle",
    "thistle",
    "umber",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
    "anchor",
    "bramble",
    "cinder",
    "dew",
    "echo",
    "fern",
    "grove",
    "heath",
    "inlet",
    "juniper",
    "knoll",
]


def text(sentences: int, seed: int) -> str:
    """A text of random sentences in paragraphs of five."""
    chosen = random.Random(seed)
    pieces = []
    for number in range(sentences):
        words = " ".join(chosen.choice(_WORDS) for _ in range(chosen.randint(7, 12)))
        pieces.append(f"Sentence {number} of text {seed} tells of {words}.{chr(10) * 2 if number % 5 == 4 else ' '}")
    return "".join(pieces).strip()


def vectors(texts: Sequence[str]) -> list[list[float]]:
    """The bundled embedder's vectors."""
    return [list(map(float, vector)) for vector in default_embedder().documents(list(texts))]


class LangChainEmbedder(Embeddings):
    """The bundled embedder for LangChain."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return vectors(texts)

    def embed_query(self, text: str) -> list[float]:
        return vectors([text])[0]


class LlamaIndexEmbedder(BaseEmbedding):
    """The bundled embedder for LlamaIndex."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return vectors([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return vectors(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return vectors([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vectors([query])[0]


def langchain_store(place: dict[str, Any], texts: dict[str, str], **options: Any) -> Chroma:
    """A LangChain Chroma with chunks of these texts, which overlap; their sources are the keys."""
    store = Chroma(embedding_function=LangChainEmbedder(), **place)
    splitter = RecursiveCharacterTextSplitter(
        **{"chunk_size": 160, "chunk_overlap": 40, "add_start_index": True, **options}
    )
    documents = [LangChainDocument(page_content=text, metadata={"source": name}) for name, text in texts.items()]
    chunks = splitter.split_documents(documents)
    for start in range(0, len(chunks), 5_000):
        store.add_documents(chunks[start : start + 5_000])
    return store


def llamaindex_index(collection: Any, texts: dict[str, str], **options: Any) -> VectorStoreIndex:
    """A LlamaIndex VectorStoreIndex with nodes of these texts, which overlap; the ids of their documents are the keys."""
    context = StorageContext.from_defaults(vector_store=ChromaVectorStore(chroma_collection=collection))
    documents = [LlamaIndexDocument(text=text, id_=name, metadata={"kind": "tale"}) for name, text in texts.items()]
    splitter = SentenceSplitter(**{"chunk_size": 60, "chunk_overlap": 15, **options})
    return VectorStoreIndex.from_documents(
        documents, storage_context=context, embed_model=LlamaIndexEmbedder(), transformations=[splitter]
    )


def plain_collection(client: Any, texts: Sequence[str], name: str = "plain", space: str = "cosine") -> Any:
    """A collection of Chroma alone, with a record for each text."""
    options: dict[str, Any] = {"embedding_function": None, "configuration": {"hnsw": {"space": space}}}
    collection = client.create_collection(name, **options)
    for start in range(0, len(texts), 5_000):
        some = list(texts[start : start + 5_000])
        collection.add(
            ids=[f"record {start + number}" for number in range(len(some))],
            documents=some,
            embeddings=vectors(some),
            metadatas=[{"number": start + number, "even": number % 2 == 0} for number in range(len(some))],
        )
    return collection


def chroma(folder: Any) -> Any:
    """A client of the Chroma in a folder. In one process, Chroma takes equal paths for the same folder, also relative ones."""
    return chromadb.PersistentClient(str(Path(folder).resolve()), settings=chromadb.Settings(anonymized_telemetry=False))
