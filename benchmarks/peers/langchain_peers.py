"""LangChain: its Chroma store, EnsembleRetriever over BM25 and Chroma, and ParentDocumentRetriever."""

from __future__ import annotations

from typing import Any

from corpus import WORDLLAMA, Corpus, plain_collection
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from peers._asking import Asked, Found

CANDIDATES = 24


class InLangChain(Embeddings):
    """WordLlama for LangChain."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        vectors: list[list[float]] = WORDLLAMA.documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_documents([text])[0]


def ids_of(documents: list[Document]) -> Found:
    """The ids of what a retriever has found."""
    return [document.id or "" for document in documents]


def asked(name: str, kind: str, package: str, retriever: BaseRetriever, **more: Any) -> Asked:
    """A retriever of LangChain, as it is asked."""
    return Asked(
        name,
        kind,
        package,
        lambda question: ids_of(retriever.invoke(question)),
        many=retriever.batch,
        aask=retriever.ainvoke,
        **more,
    )


def chroma(client: Any, k: int) -> Asked:
    """The store over the plain collection."""
    from langchain_chroma import Chroma

    store = Chroma("plain", InLangChain(), client=client)

    def within(question: str, first: int, last: int) -> Found:
        books = {"$and": [{"book": {"$gte": first}}, {"book": {"$lt": last}}]}
        return ids_of(store.similarity_search(question, k, filter=books))

    retriever = store.as_retriever(search_kwargs={"k": k})
    return asked("LangChain Chroma", "vectors", "langchain-chroma", retriever, within=within)


def bm25(corpus: Corpus, k: int) -> BaseRetriever:
    """BM25 over all leaves, in memory."""
    from langchain_community.retrievers import BM25Retriever

    documents = [Document(text, id=id_) for id_, text in zip(corpus.ids, corpus.texts, strict=True)]
    return BM25Retriever.from_documents(documents, k=k)


def ensemble(client: Any, words: BaseRetriever) -> Asked:
    """Both, fused, each for 24. It returns everything that they find."""
    from langchain_chroma import Chroma
    from langchain_classic.retrievers import EnsembleRetriever

    vectors = Chroma("plain", InLangChain(), client=client).as_retriever(search_kwargs={"k": CANDIDATES})
    retriever = EnsembleRetriever(retrievers=[words, vectors], weights=[0.5, 0.5])
    return asked("LangChain EnsembleRetriever", "words and vectors", "langchain-classic", retriever)


def parents(client: Any, corpus: Corpus) -> Asked:
    """Leaves in Chroma, and their parents in memory, under the ids that leaves have in their metadata."""
    from langchain_chroma import Chroma
    from langchain_classic.retrievers import ParentDocumentRetriever
    from langchain_core.stores import InMemoryStore
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    collection = plain_collection(client, "parents")
    above: dict[str, str] = {}
    store = InMemoryStore()
    for node in corpus.nodes():
        if node.level == 0:
            above[node.id] = node.parent or ""
        elif node.level == 1:
            store.mset([(node.id, Document(node.text, id=node.id))])
    for first in range(0, len(corpus.ids), 5000):
        rows = slice(first, first + 5000)
        collection.add(
            ids=corpus.ids[rows],
            embeddings=corpus.vectors[rows],
            documents=corpus.texts[rows],
            metadatas=[{"doc_id": above[id_]} for id_ in corpus.ids[rows]],
        )
    retriever = ParentDocumentRetriever(
        vectorstore=Chroma("parents", InLangChain(), client=client),
        docstore=store,
        child_splitter=RecursiveCharacterTextSplitter(),  # it must be given, and is not used: the leaves are there
        search_kwargs={"k": CANDIDATES},
    )
    return asked("LangChain ParentDocumentRetriever", "parents", "langchain-classic", retriever)
