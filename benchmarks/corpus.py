"""The corpus of the benchmarks: documents with their leaves and vectors, and ways to store them.

Every system gets the same leaves, with the same ids, texts and vectors. They are made before the measurements.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import chromadb
import numpy as np
from numpy.typing import NDArray
from shuffled import made_up_texts, made_up_words, shuffled_questions, shuffled_texts

from leafspan import Document, Embedder, HierarchicalSplitter
from leafspan.embedding import default_embedder
from leafspan.examples import EXAMPLE_QUESTIONS
from leafspan.hosting import split_into_leaves

LEAVES_OF_A_DOCUMENT = 32
DOCUMENTS_AT_ONCE = 320  # in one add; about 10,000 leaves
WORDLLAMA = default_embedder()


class Node(NamedTuple):
    """A leaf, or a larger piece of a document above it.

    Attributes:
        id: Its id.
        parent: Id of the node above it, or None for a whole document.
        level: 0 for a leaf, 1 for the nodes above leaves, and so on.
        text: Its text.
        document_id: Id of its document.
        start: Its first character in the document.
    """

    id: str
    parent: str | None
    level: int
    text: str
    document_id: str
    start: int


@dataclass(frozen=True)
class Corpus:
    """Documents with their leaves.

    Attributes:
        documents: The documents.
        ids: Ids of all leaves, document by document.
        texts: Texts of all leaves.
        metadata: Metadata of each document.
        starts: Number of leaves before each document, and the number of all leaves.
        model: The embedder of leaves and questions. Default: WordLlama.
    """

    documents: Sequence[Document]
    ids: Sequence[str]
    texts: Sequence[str]
    starts: Sequence[int]
    model: Embedder = WORDLLAMA

    @classmethod
    def made(cls, leaves: int, keys: Mapping[str, Any] | None = None, *, seed: int = 7) -> Corpus:
        """A corpus of about this many leaves, in documents of about 32 leaves.

        Args:
            leaves: Number of leaves.
            keys: Metadata of all documents; ``book`` becomes the document's number. Default: none.
            seed: Seed of the texts. Default: 7.
        """
        documents = [
            Document(f"book-{number}", text, metadata={**keys, "book": number} if keys else {})
            for number, text in enumerate(shuffled_texts(max(1, leaves // LEAVES_OF_A_DOCUMENT), random.Random(seed)))
        ]
        return cls.of(documents)

    @classmethod
    def made_up(cls, leaves: int, *, seed: int = 7) -> tuple[Corpus, list[str]]:
        """A corpus of about this many leaves of made-up words, whose vectors lie close together, and 300 questions."""
        drawn = random.Random(seed)
        words = made_up_words(8000, drawn)
        texts = made_up_texts(max(1, leaves // LEAVES_OF_A_DOCUMENT), words, drawn)
        asked = [" ".join(drawn.choices(words, k=7)) for _ in range(300)]
        return cls.of([Document(f"book-{number}", text) for number, text in enumerate(texts)]), asked

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Corpus:
        """Make a corpus of documents, with the leaves of the default splitter."""
        splitter = HierarchicalSplitter()
        ids, texts, counts = [], [], []
        for document in documents:
            pieces = split_into_leaves(document, splitter)
            ids += [str(piece.id) for piece in pieces]
            texts += [document.text[piece.start : piece.end] for piece in pieces]
            counts.append(len(pieces))
        return cls(documents, ids, texts, [0, *accumulate(counts)])

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors of all leaves, of length 1."""
        pages = range(0, len(self.texts), 1000)
        made = [self.model.documents(list(self.texts[first : first + 1000])) for first in pages]
        return np.concatenate(made).astype(np.float32)

    @cached_property
    def metadata(self) -> Sequence[dict[str, Any]]:
        """The metadata of each leaf, which are its document's metadata."""
        spans = zip(self.documents, pairwise(self.starts), strict=True)
        return [dict(document.metadata) for document, (first, end) in spans for _ in range(first, end)]

    @cached_property
    def books(self) -> Sequence[int]:
        """The number of the document of each leaf."""
        return [number for number, (first, end) in enumerate(pairwise(self.starts)) for _ in range(first, end)]

    def embedder(self) -> Embedder:
        """An embedder with ready-made vectors for an index of these documents, so that no cache keeps them."""
        ready_made = ReadyMade(self)
        return Embedder("ready-made", ready_made, ready_made.embed_query, local=True)

    def groups(self) -> Iterator[tuple[Sequence[Document], slice]]:
        """Groups of documents, and the positions of their leaves."""
        for first in range(0, len(self.documents), DOCUMENTS_AT_ONCE):
            some = self.documents[first : first + DOCUMENTS_AT_ONCE]
            yield some, slice(self.starts[first], self.starts[first + len(some)])

    def nodes(self) -> Iterator[Node]:
        """All leaves and all nodes above them, document by document. A leaf comes before the nodes above it."""
        splitter = HierarchicalSplitter()
        for document in self.documents:
            seen = set()
            for leaf in split_into_leaves(document, splitter):
                spans = [(str(leaf.id), leaf.start, leaf.end)]
                for level, node in enumerate(leaf.ancestors):
                    spans.append((f"{document.id}/{level}/{node.first}", node.start, node.end))
                parents = [id_ for id_, _, _ in spans[1:]] + [None]
                for level, ((id_, start, end), parent) in enumerate(zip(spans, parents, strict=True)):
                    if id_ not in seen:
                        yield Node(id_, parent, level, document.text[start:end], document.id, start)
                        seen.add(id_)

    def recall(self, question: str, found: Sequence[str], count: int, books: tuple[int, int] | None = None) -> float:
        """The share of the nearest leaves that a search has found.

        Leaves that are as near as the last of the nearest leaves count as nearest, too.

        Args:
            question: The question.
            found: Ids of the found leaves.
            count: Number of leaves that were wanted.
            books: Range of document numbers that were searched; the end is exclusive. Default: all.
        """
        first, end = (self.starts[0], self.starts[-1]) if books is None else (self.starts[each] for each in books)
        count = min(count, end - first)
        query = np.asarray(self.model.queries([question]))[0].astype(np.float32)
        last = np.partition(self.vectors[first:end] @ query, -count)[-count]
        cosines = self.vectors[[self._places[id_] for id_ in found[:count]]] @ query
        return float((cosines >= last - 1e-6).sum()) / count

    @cached_property
    def _places(self) -> dict[str, int]:
        return {id_: place for place, id_ in enumerate(self.ids)}


class ReadyMade:
    """An embedder that looks up the vectors of leaves, so that embedding takes no time. Questions are embedded."""

    def __init__(self, corpus: Corpus) -> None:
        self._model = corpus.model
        self._vectors = corpus.vectors
        self._rows = {text: row for row, text in enumerate(corpus.texts)}

    def __call__(self, texts: list[str]) -> Any:
        """The vectors of leaves. If other texts are among them, such as a title, all are embedded."""
        rows = [self._rows.get(text) for text in texts]
        return self._model.documents(texts) if None in rows else self._vectors[rows]

    def embed_query(self, texts: list[str]) -> Any:
        """The vectors of questions."""
        return self._model.queries(texts)


def mapped(model: Embedder, dimension: int) -> Embedder:
    """An embedder whose vectors are a model's vectors, mapped to another number of dimensions.

    The map is a fixed random matrix with orthonormal rows or columns, so more dimensions keep all cosines.
    """

    @cache
    def matrix(own: int) -> NDArray[np.float64]:
        drawn = np.random.default_rng(0).standard_normal((max(own, dimension), min(own, dimension)))
        columns = np.linalg.qr(drawn)[0]
        return columns if own > dimension else columns.T

    def mapping(embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
        def mapped_vectors(texts: list[str]) -> Any:
            vectors = np.asarray(embed(texts), np.float32)
            return (vectors @ matrix(vectors.shape[1])).astype(np.float32)

        return mapped_vectors

    return Embedder(f"{model.name} in {dimension}", mapping(model.documents), mapping(model.queries), local=True)


def questions(count: int) -> list[str]:
    """Questions: first about the example articles, then made-up ones."""
    more = shuffled_questions(max(0, count - len(EXAMPLE_QUESTIONS)), random.Random(11))
    return [*EXAMPLE_QUESTIONS, *more][:count]


def plain_client(folder: Path) -> Any:
    """A Chroma client on a folder."""
    return chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))


def plain_collection(client: Any, name: str = "plain") -> Any:
    """Make a new collection with Chroma's defaults, except that it uses cosines."""
    return client.create_collection(name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}})


def add_to_plain(collection: Any, corpus: Corpus, rows: slice) -> None:
    """Store leaves with their documents' metadata in a plain collection, in calls as large as Chroma allows."""
    for first in range(rows.start, rows.stop, 5000):
        some = slice(first, min(first + 5000, rows.stop))
        collection.add(
            ids=corpus.ids[some],
            embeddings=corpus.vectors[some],
            documents=corpus.texts[some],
            metadatas=corpus.metadata[some] if any(corpus.metadata[some]) else None,
        )
