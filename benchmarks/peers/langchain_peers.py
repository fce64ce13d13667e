"""LangChain: its Chroma store, EnsembleRetriever over BM25 and Chroma, and ParentDocumentRetriever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus import WORDLLAMA, Corpus, ReadyMade, plain_collection
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from peers._asking import Asked, Found

CANDIDATES = 24
AT_ONCE = 5000  # leaves; Chroma takes at most 5,461 in a call


class InLangChain(Embeddings):
    """WordLlama for LangChain.

    Args:
        documents: Embeds texts. Default: WordLlama.
    """

    def __init__(self, documents: Callable[[list[str]], Any] = WORDLLAMA.documents) -> None:
        self._documents = documents

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        vectors: list[list[float]] = self._documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        vector: list[float] = WORDLLAMA.queries([text])[0].tolist()
        return vector


def ids_of(documents: list[Document]) -> Found:
    """The ids of a retriever's results."""
    return [document.id or "" for document in documents]


def asked(name: str, kind: str, package: str, retriever: BaseRetriever, **more: Any) -> Asked:
    """A LangChain retriever, ready to be asked."""
    return Asked(
        name,
        kind,
        package,
        lambda question: ids_of(retriever.invoke(question)),
        many=retriever.batch,
        aask=retriever.ainvoke,
        **more,
    )


class Stored:
    """Its Chroma store in a folder.

    Args:
        folder: The folder.
        corpus: The leaves to add.
    """

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        from langchain_chroma import Chroma

        self._corpus = corpus
        self._store = Chroma("langchain", InLangChain(ReadyMade(corpus)), persist_directory=str(folder))

    def add(self, rows: slice) -> None:
        """Store leaves, in calls as large as Chroma allows."""
        for first in range(rows.start, rows.stop, AT_ONCE):
            some = slice(first, min(first + AT_ONCE, rows.stop))
            self._store.add_texts(
                list(self._corpus.texts[some]), list(self._corpus.metadata[some]), ids=list(self._corpus.ids[some])
            )

    def vectors(self, k: int) -> BaseRetriever:
        """Its retriever by vectors."""
        return self._store.as_retriever(search_kwargs={"k": k})

    def asked_by_vectors(self, k: int) -> Asked:
        """The retriever by vectors, ready to be asked."""

        def within(question: str, first: int, last: int) -> Found:
            books = {"$and": [{"book": {"$gte": first}}, {"book": {"$lt": last}}]}
            return ids_of(self._store.similarity_search(question, k, filter=books))  # type: ignore[arg-type]

        return asked("LangChain Chroma", "vectors", "langchain-chroma", self.vectors(k), within=within, count=k)


def bm25(corpus: Corpus, k: int) -> BaseRetriever:
    """BM25 over all leaves, in memory."""
    from langchain_community.retrievers import BM25Retriever

    documents = [Document(text, id=id_) for id_, text in zip(corpus.ids, corpus.texts, strict=True)]
    return BM25Retriever.from_documents(documents, k=k)


def by_words(retriever: BaseRetriever) -> Asked:
    """BM25 alone."""
    return asked("LangChain BM25Retriever", "words", "rank-bm25", retriever)


def ensemble(words: BaseRetriever, vectors: BaseRetriever) -> Asked:
    """Both, fused. The ensemble returns all of their results."""
    from langchain_classic.retrievers import EnsembleRetriever

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
    for first in range(0, len(corpus.ids), AT_ONCE):
        rows = slice(first, first + AT_ONCE)
        collection.add(
            ids=corpus.ids[rows],
            embeddings=corpus.vectors[rows],
            documents=corpus.texts[rows],
            metadatas=[{"doc_id": above[id_]} for id_ in corpus.ids[rows]],
        )
    retriever = ParentDocumentRetriever(
        vectorstore=Chroma("parents", InLangChain(), client=client),
        docstore=store,
        child_splitter=RecursiveCharacterTextSplitter(),  # required, but not used: the leaves are there already
        search_kwargs={"k": CANDIDATES},
    )
    return asked("LangChain ParentDocumentRetriever", "parents", "langchain-classic", retriever)
