"""How long a retrieval takes, beside what it is built on and beside its peer.

    python benchmarks/latency.py [--leaves 100000] [--queries 300] [--json FILE]

Everything is compared within one run, by ratios of medians: a bare time means little on another machine. The corpus is made
of shuffled sentences of the example articles, so nothing is downloaded.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.retrievers import AutoMergingRetriever as LlamaIndexAutoMerging
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.chroma import ChromaVectorStore
from results import Figure, add_json_option, all_passed, write_results
from shuffled import shuffled_questions, shuffled_texts

import langchain_ext
from leafspan import Document, Index, Vector
from leafspan.documents import unpack_place
from leafspan.embedding import default_embedder
from leafspan.examples import EXAMPLE_QUESTIONS
from leafspan.reserved import STRUCTURE_KEY
from leafspan.strategies import LeafId

CANDIDATES = 24
USER_KEYS = {"book": 1, "language": "en", "rating": 4.5, "checked": True}
WORDLLAMA = default_embedder()


@dataclass
class Bench:
    """The same leaves in an index and in a plain Chroma collection.

    Attributes:
        index: The index.
        client: Chroma client of the plain collection.
        plain: The plain collection.
        leaves: Number of leaves.
        throughput: Throughput of ``add`` as a share of the plain collection's.
    """

    index: Index
    client: Any
    plain: Any
    leaves: int
    throughput: float


class Vectors:
    """An embedder whose vectors for the leaves of some documents are ready-made, so that embedding does not count."""

    def __init__(self, documents: Sequence[Document], folder: Path) -> None:
        with Index.open(folder, embedder=lambda texts: np.zeros((len(texts), 2)) + 1) as index:
            index.add(documents, progress=False)
            leaves = index.leaves()
        by_document: dict[str, list[Any]] = {}
        for leaf in leaves:
            by_document.setdefault(leaf.document_id, []).append(leaf)
        self.leaves = [leaf for document in documents for leaf in by_document[document.id]]
        texts = [leaf.text for leaf in self.leaves]
        self.matrix = np.concatenate([WORDLLAMA.documents(texts[i : i + 1000]) for i in range(0, len(texts), 1000)])
        self._rows = {text: row for row, text in enumerate(texts)}

    def __call__(self, texts: list[str]) -> Any:
        """The vectors of leaves. Another text, such as the probe by which an index recognises its embedder, is embedded."""
        if texts[0] not in self._rows:
            return WORDLLAMA.documents(texts)
        return self.matrix[[self._rows[text] for text in texts]]

    def embed_query(self, texts: list[str]) -> Any:
        """Questions are embedded, which counts on both sides."""
        return WORDLLAMA.queries(texts)


def make_documents(leaves: int, keys: dict[str, Any]) -> list[Document]:
    """Documents of about 30 leaves, of sentences drawn at random from the example articles."""
    return [
        Document(f"book-{number}", text, metadata={**keys, "book": number} if keys else {})
        for number, text in enumerate(shuffled_texts(leaves // 30, random.Random(7)))
    ]


def build(folder: Path, leaves: int, keys: dict[str, Any]) -> Bench:
    """The same leaves, added to an index and to a plain collection in turns."""
    documents = make_documents(leaves, keys)
    vectors = Vectors(documents, folder / "texts")
    index = Index.open(folder / "ours", embedder=vectors)
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(folder / "plain"), settings=settings)
    batch = client.get_max_batch_size()
    plain = client.create_collection("plain", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
    ours = theirs = 0.0
    stream: Iterator[Document] = iter(documents)
    place = 0
    while chunk := list(islice(stream, 4 * batch // 30)):
        started = time.perf_counter()
        index.add(chunk, progress=False)
        ours += time.perf_counter() - started
        ids = {document.id for document in chunk}
        count = sum(leaf.document_id in ids for leaf in vectors.leaves[place : place + 6 * batch])
        end = place + count
        started = time.perf_counter()
        for begin in range(place, end, batch):
            rows = slice(begin, min(begin + batch, end))
            some = vectors.leaves[rows]
            plain.add(
                ids=[leaf.id for leaf in some],
                embeddings=vectors.matrix[rows],
                documents=[leaf.text for leaf in some],
                metadatas=[dict(leaf.metadata) for leaf in some] if keys else None,
            )
        theirs += time.perf_counter() - started
        place = end
    return Bench(index, client, plain, len(vectors.leaves), theirs / ours)


def medians(work: dict[str, Callable[[str], Any]], questions: Sequence[str]) -> dict[str, float]:
    """The median seconds of each function, which are asked the same questions in turns."""
    for question in questions[:20]:
        for function in work.values():
            function(question)
    times: dict[str, list[float]] = {name: [] for name in work}
    for question in questions:
        for name, function in work.items():
            started = time.perf_counter()
            function(question)
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def plain_query(bench: Bench) -> Callable[[str], Any]:
    """A plain Chroma query, to which all others are compared."""

    def ask(question: str) -> Any:
        return bench.plain.query(
            query_embeddings=WORDLLAMA.queries([question]),
            n_results=CANDIDATES,
            include=["documents", "metadatas", "distances"],
        )

    return ask


def llamaindex_auto_merging(bench: Bench) -> Callable[[str], Any]:
    """LlamaIndex's auto-merging over the same leaves, in its own Chroma store, with the parents in memory."""
    nodes: dict[str, TextNode] = {}
    for stored in bench.index.leaves():
        nodes[stored.id] = TextNode(id_=stored.id, text=stored.text)
    leaf_ids = list(nodes)
    for leaf_id, levels in _ancestors(bench.index).items():
        child = leaf_id
        for parent in levels:
            if parent not in nodes:
                nodes[parent] = TextNode(id_=parent, text="", relationships={NodeRelationship.CHILD: []})
            nodes[child].relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent)
            children: Any = nodes[parent].relationships[NodeRelationship.CHILD]
            if not children or children[-1].node_id != child:
                children.append(RelatedNodeInfo(node_id=child))
            child = parent
    docstore = SimpleDocumentStore()
    docstore.add_documents(list(nodes.values()))
    collection = bench.client.create_collection(
        "llamaindex", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    store = ChromaVectorStore(chroma_collection=collection)
    for begin in range(0, len(leaf_ids), 5000):
        ids = leaf_ids[begin : begin + 5000]
        page = bench.plain.get(ids=ids, include=["embeddings"])
        vectors = dict(zip(page["ids"], page["embeddings"].tolist(), strict=True))
        for id_ in ids:
            nodes[id_].embedding = vectors[id_]
        store.add([nodes[id_] for id_ in ids])
    base: Any = VectorStoreIndex.from_vector_store(store, embed_model=InLlamaIndex()).as_retriever(
        similarity_top_k=CANDIDATES
    )
    retriever = LlamaIndexAutoMerging(base, StorageContext.from_defaults(docstore=docstore))
    return retriever.retrieve


class InLlamaIndex(BaseEmbedding):
    """WordLlama for LlamaIndex."""

    def _get_text_embedding(self, text: str) -> list[float]:
        embedded: list[float] = WORDLLAMA.documents([text])[0].tolist()
        return embedded

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def _ancestors(index: Index) -> dict[str, list[str]]:
    """The ids of the nodes above each leaf, from the places that are stored with the leaves."""
    collection = index.client.get_collection("kb.leaves", embedding_function=None)
    above: dict[str, list[str]] = {}
    offset = 0
    while True:
        page = collection.get(limit=5000, offset=offset, include=["metadatas"])
        for id_, metadata in zip(page["ids"], page["metadatas"], strict=True):
            leaf = unpack_place(LeafId.parse(id_), metadata[STRUCTURE_KEY])
            above[leaf.id] = [f"{leaf.document_id}/{n}/{node.first}" for n, node in enumerate(leaf.ancestors)]
        offset += 5000
        if len(page["ids"]) < 5000:
            return dict(sorted(above.items(), key=lambda item: int(item[0].rpartition("#")[2])))


def filtered_windows(bench: Bench, client: Any) -> Callable[[str], Any]:
    """The windows of the first five hits, each fetched by a filter on document and position.

    This is how it is done if ids are not computable. The records with these two keys are in a collection of their own,
    whose vectors do not matter.
    """
    leaves = bench.index.leaves()
    positions = client.create_collection("positions", embedding_function=None)
    places = [leaf.id.split("#") for leaf in leaves]
    for begin in range(0, len(leaves), 5000):
        some = places[begin : begin + 5000]
        positions.add(
            ids=[leaf.id for leaf in leaves[begin : begin + 5000]],
            embeddings=[[float(begin + i), 1.0] for i in range(len(some))],
            documents=[leaf.text for leaf in leaves[begin : begin + 5000]],
            metadatas=[{"document": document, "position": int(position)} for document, _, position in some],
        )

    def ask(question: str) -> Any:
        for id_ in plain_query(bench)(question)["ids"][0][:5]:
            document, _, ordinal = id_.split("#")
            near = {"$gte": int(ordinal) - 1}, {"$lte": int(ordinal) + 1}
            where = {"$and": [{"document": document}, *({"position": bound} for bound in near)]}
            positions.get(where=where, include=["documents"])

    return ask


def import_cost() -> float:
    """Seconds that ``import langchain_ext`` takes after ``import langchain_core.retrievers``, the median of seven."""
    program = (
        "import time, langchain_core.retrievers; started = time.perf_counter(); import langchain_ext; "
        "print(time.perf_counter() - started)"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(7)]
    return statistics.median(float(run.stdout) for run in runs)


def measure(bench: Bench, questions: Sequence[str], *, keys: int) -> list[Figure]:
    """The figures of one pair of collections, with ``keys`` metadata keys."""
    part = f"{keys} metadata keys"
    adapters = {
        "auto-merging": langchain_ext.AutoMergingRetriever,
        "windows": langchain_ext.SentenceWindowRetriever,
        "parents": langchain_ext.ParentDocumentRetriever,
    }
    work: dict[str, Callable[[str], Any]] = {"plain": plain_query(bench)}
    for name, adapter in adapters.items():
        for k in (5, 24):
            work[f"{name}, k = {k}"] = adapter(index=bench.index, base=Vector(), k=k, candidates=CANDIDATES).invoke
    if keys == 0:
        work["LlamaIndex"] = llamaindex_auto_merging(bench)
    times = medians(work, questions)
    figures = []
    for name in work:
        if "k =" in name:
            bound = 1.6 if name.endswith(" 5") else 2.8 if name.startswith("parents") else 2.0
            figures.append(Figure(f"{name}, beside a plain query", times[name] / times["plain"], "<=", bound, part))
            if "LlamaIndex" in times and name.endswith(" 5"):
                ratio = times[name] / times["LlamaIndex"]
                figures.append(Figure(f"{name}, beside LlamaIndex's auto-merging", ratio, "<=", 1.0, part))
    if keys:
        few = medians({"filter": filtered_windows(bench, bench.client), "ours": work["windows, k = 5"]}, questions[:10])
        ratio = few["filter"] / few["ours"]
        figures.append(Figure("windows, times faster than by a metadata filter", ratio, ">=", 50.0, part))
    figures.append(Figure("add, throughput beside plain Chroma's", bench.throughput, ">=", 0.8, part))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="number of leaves of each collection")
    parser.add_argument("--queries", type=int, default=300, help="number of questions")
    add_json_option(parser)
    arguments = parser.parse_args()
    more = shuffled_questions(arguments.queries - len(EXAMPLE_QUESTIONS), random.Random(11))
    questions = [*EXAMPLE_QUESTIONS, *more]
    figures: list[Figure] = []
    for keys in ({}, USER_KEYS):
        folder = Path(tempfile.mkdtemp())
        try:
            bench = build(folder, arguments.leaves, keys)
            print(f"\n{bench.leaves:,} leaves, {len(keys)} metadata keys, {CANDIDATES} candidates")
            for figure in measure(bench, questions, keys=len(keys)):
                verdict = "holds" if figure.passed else "FAILS"
                print(f"  {verdict}  {figure.value:7.2f} {figure.sign} {figure.bound:<5g} {figure.name}")
                figures.append(figure)
            bench.index.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    figure = Figure("seconds of import langchain_ext over langchain_core", import_cost(), "<=", 0.2)
    verdict = "holds" if figure.passed else "FAILS"
    print(f"\n  {verdict}  {figure.value:7.2f} {figure.sign} {figure.bound}   {figure.name}")
    figures.append(figure)
    write_results("latency", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
