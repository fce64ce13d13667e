"""Engines in a process: plain Chroma, zvec and LanceDB by vectors, and bm25s by words.

Each is asked for 24 records with texts, the number that retrievers read before they choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from corpus import WORDLLAMA, Corpus

from leafspan import Embedder
from peers._asking import Asked, Found

CANDIDATES = 24
INCLUDED = ["documents", "metadatas", "distances"]


def plain_chroma(
    collection: Any, count: int = CANDIDATES, name: str = "plain Chroma", model: Embedder = WORDLLAMA
) -> Asked:
    """The plain collection, which all others are compared with."""

    def query(texts: list[str], where: Any = None) -> list[Found]:
        vectors = model.queries(texts)
        ids: list[Found] = collection.query(query_embeddings=vectors, n_results=count, include=INCLUDED, where=where)["ids"]
        return ids

    def within(question: str, first: int, last: int) -> Found:
        return query([question], {"$and": [{"book": {"$gte": first}}, {"book": {"$lt": last}}]})[0]

    return Asked(name, "vectors", "chromadb", lambda question: query([question])[0], many=query, within=within, count=count)


class Zvec:
    """A zvec collection with its graph (HNSW) and default parameters.

    Args:
        folder: A folder, in which it makes its own folder.
        corpus: The leaves.
    """

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        import zvec

        self._zvec: Any = zvec
        self._corpus = corpus
        self._folder = folder
        fields = [
            zvec.FieldSchema("id", zvec.DataType.STRING),
            zvec.FieldSchema("text", zvec.DataType.STRING),
            zvec.FieldSchema(
                "book", zvec.DataType.INT64, index_param=zvec.InvertIndexParam(enable_range_optimization=True)
            ),
        ]
        graph = zvec.HnswIndexParam(metric_type=zvec.MetricType.COSINE)
        vector = zvec.VectorSchema("vector", zvec.DataType.VECTOR_FP32, corpus.vectors.shape[1], index_param=graph)
        self._collection: Any = zvec.create_and_open(
            str(folder / "leaves"), zvec.CollectionSchema("leaves", fields, vector)
        )

    def add(self, rows: slice) -> None:
        """Store leaves. Ids are numbers here, since zvec does not allow all characters in ids."""
        corpus = self._corpus
        places = iter(range(rows.start, rows.stop))
        while some := list(islice(places, 1000)):
            docs = [
                self._zvec.Doc(
                    id=str(place),
                    fields={"id": corpus.ids[place], "text": corpus.texts[place], "book": corpus.books[place]},
                    vectors={"vector": corpus.vectors[place]},
                )
                for place in some
            ]
            self._collection.insert(docs)

    def finish(self) -> None:
        """Build the missing part of the graph, and open it for reading."""
        self._collection.optimize()
        self._collection.flush()
        self._collection.close()
        reading = self._zvec.CollectionOption(read_only=True, enable_mmap=True)
        self._collection = self._zvec.open(str(self._folder / "leaves"), reading)

    def asked(self) -> Asked:
        """The collection, ready to be asked."""

        def query(question: str, where: str | None = None) -> Found:
            vector = WORDLLAMA.queries([question])[0]
            found = self._collection.query(self._zvec.Query("vector", vector=vector), topk=CANDIDATES, filter=where)
            return [each.fields["id"] for each in found]

        def within(question: str, first: int, last: int) -> Found:
            return query(question, f"book >= {first} and book < {last}")

        return Asked("zvec", "vectors", "zvec", query, within=within, note="HNSW")


class LanceDB:
    """A LanceDB table.

    Args:
        folder: Folder of its database.
        corpus: The leaves.
    """

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        import lancedb
        import pyarrow

        self._pyarrow: Any = pyarrow
        self._corpus = corpus
        self._database = lancedb.connect(str(folder))
        self._table: Any = None

    def add(self, rows: slice) -> None:
        """Store leaves."""
        corpus, arrow = self._corpus, self._pyarrow
        numbers = arrow.array(corpus.vectors[rows].reshape(-1))
        columns = {
            "id": list(corpus.ids[rows]),
            "text": list(corpus.texts[rows]),
            "book": corpus.books[rows],
            "vector": arrow.FixedSizeListArray.from_arrays(numbers, corpus.vectors.shape[1]),
        }
        page = arrow.table(columns)
        if self._table is None:
            self._table = self._database.create_table("leaves", page)
        else:
            self._table.add(page)

    def finish(self) -> None:
        """Build an index (IVF_PQ, the default of ``create_index``)."""
        from lancedb.index import IvfPq

        self._table.create_index("vector", config=IvfPq(distance_type="cosine"))

    def asked(self, *, exact: bool) -> Asked:
        """The table, ready to be asked.

        Args:
            exact: Whether to compare all vectors without the index.
        """

        def search(vectors: Any, where: str | None = None) -> list[dict[str, Any]]:
            query = self._table.search(vectors, vector_column_name="vector").distance_type("cosine").limit(CANDIDATES)
            if exact:
                query = query.bypass_vector_index()
            if where:
                query = query.where(where, prefilter=True)
            rows: list[dict[str, Any]] = query.select(["id", "text", "book", "_distance"]).to_list()
            return rows

        def ask(question: str) -> Found:
            return [row["id"] for row in search(WORDLLAMA.queries([question])[0])]

        def within(question: str, first: int, last: int) -> Found:
            vector = WORDLLAMA.queries([question])[0]
            return [row["id"] for row in search(vector, f"book >= {first} AND book < {last}")]

        def many(questions: list[str]) -> Any:
            return search(list(WORDLLAMA.queries(questions)))

        name = "LanceDB, without an index" if exact else "LanceDB, IVF_PQ"
        return Asked(name, "vectors", "lancedb", ask, many=many, within=within)


def bm25s(corpus: Corpus, texts: Sequence[str]) -> Asked:
    """bm25s with English stop words and stems. It returns texts."""
    import bm25s as library
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    engine = library.BM25()
    engine.index(library.tokenize(list(texts), stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def retrieve(questions: list[str]) -> Any:
        tokens = library.tokenize(questions, stopwords="en", stemmer=stemmer, show_progress=False)
        places, _ = engine.retrieve(tokens, k=min(CANDIDATES, len(texts)), show_progress=False)
        return [[(corpus.ids[place], texts[place]) for place in row] for row in places]

    def ask(question: str) -> Found:
        return [id_ for id_, _ in retrieve([question])[0]]

    return Asked("bm25s", "words", "bm25s", ask, many=retrieve)
