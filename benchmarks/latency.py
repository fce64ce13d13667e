"""How long a retrieval takes, beside what it is built on and beside its peer: ``python benchmarks/latency.py``.

Everything is compared within one run, by ratios of medians; a bare time means little on another machine. The corpus is made
of shuffled sentences of the example articles, so that nothing is downloaded.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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

import langchain_ext
from leafspan import Document, Index, Vector
from leafspan.embedding import default_embedder
from leafspan.embedding._embedders import PROBE
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents

CANDIDATES = 24
USER_KEYS = {"book": 1, "language": "en", "rating": 4.5, "checked": True}
WORDLLAMA = default_embedder()


@dataclass
class Bench:
    """The same leaves in an index of ours and in a plain Chroma collection."""

    index: Index
    client: Any
    plain: Any
    leaves: int
    ratios: dict[str, float] = field(default_factory=dict)


class Vectors:
    """An embedder whose vectors for documents are ready-made, handed out in order."""

    def __init__(self, documents: Sequence[Document], folder: Path) -> None:
        with Index.open(folder, embedder=lambda texts: np.zeros((len(texts), 2)) + 1) as index:
            index.add(documents, progress=False)
            self.leaves = index.leaves()
        by_document: dict[str, list[Any]] = {}
        for leaf in self.leaves:
            by_document.setdefault(leaf.document_id, []).append(leaf)
        self.leaves = [leaf for document in documents for leaf in by_document[document.id]]
        texts = [leaf.text for leaf in self.leaves]
        self.matrix = np.concatenate([WORDLLAMA.documents(texts[i : i + 1000]) for i in range(0, len(texts), 1000)])
        self._next = 0

    def __call__(self, texts: list[str]) -> Any:
        """The next vectors, or the true one of the probe."""
        if texts == [PROBE]:
            return WORDLLAMA.documents(texts)
        self._next += len(texts)
        return self.matrix[self._next - len(texts) : self._next]

    def embed_query(self, texts: list[str]) -> Any:
        """Questions are embedded for real: this is counted on both sides."""
        return WORDLLAMA.queries(texts)


def make_documents(leaves: int, keys: dict[str, Any]) -> list[Document]:
    """Documents of about 30 leaves, of sentences drawn at random from the example articles."""
    generator = random.Random(7)
    sentences = [s for d in example_documents() for s in re.split(r"(?<=[.!?])\s+", d.text) if 5 < len(s.split()) < 40]
    documents = []
    for number in range(leaves // 30):
        paragraphs = [" ".join(generator.choices(sentences, k=6)) for _ in range(8)]
        metadata = {**keys, "book": number} if keys else {}
        documents.append(Document(f"book-{number}", "\n\n".join(paragraphs), metadata=metadata))
    return documents


def build(folder: Path, leaves: int, keys: dict[str, Any]) -> Bench:
    """Add the same leaves to both, in turns, and compare the throughput."""
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
    turn = 0
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
        turn += 1
    bench = Bench(index, client, plain, len(vectors.leaves))
    bench.ratios["add, throughput beside plain Chroma's"] = theirs / ours
    return bench


def medians(work: dict[str, Callable[[str], Any]], questions: Sequence[str]) -> dict[str, float]:
    """The median seconds of each, asked the same questions in turns."""
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
    """What every ratio is a multiple of."""

    def ask(question: str) -> Any:
        return bench.plain.query(
            query_embeddings=WORDLLAMA.queries([question]),
            n_results=CANDIDATES,
            include=["documents", "metadatas", "distances"],
        )

    return ask


def llamaindex_auto_merging(bench: Bench) -> Callable[[str], Any]:
    """LlamaIndex's auto-merging over the same leaves in Chroma, by its own Chroma store, with the parents in memory."""
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
    base = VectorStoreIndex.from_vector_store(store, embed_model=InLlamaIndex()).as_retriever(similarity_top_k=CANDIDATES)
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
    from leafspan.documents import STRUCTURE_KEY, unpack_place

    collection = index.client.get_collection("kb.leaves", embedding_function=None)
    above: dict[str, list[str]] = {}
    offset = 0
    while True:
        page = collection.get(limit=5000, offset=offset, include=["metadatas"])
        for id_, metadata in zip(page["ids"], page["metadatas"], strict=True):
            leaf = unpack_place(id_, metadata[STRUCTURE_KEY])
            above[leaf.id] = [f"{leaf.document_id}/{n}/{node.first}" for n, node in enumerate(leaf.ancestors)]
        offset += 5000
        if len(page["ids"]) < 5000:
            return dict(sorted(above.items(), key=lambda item: int(item[0].rpartition("#")[2])))


def filtered_windows(bench: Bench, client: Any) -> Callable[[str], Any]:
    """The windows of the first five hits, each fetched by a filter on document and position, as without computable ids.

    The records with those two keys lie in a collection of their own, whose vectors do not matter.
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


def measure(bench: Bench, questions: Sequence[str], *, keys: int) -> list[tuple[str, float, str, float]]:
    """(what, ratio, "<=" or ">=", bound) for one pair of collections."""
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
    rows = []
    for name in work:
        if "k =" in name:
            bound = 1.6 if name.endswith(" 5") else 2.8 if name.startswith("parents") else 2.0
            rows.append((f"{name}, beside a plain query", times[name] / times["plain"], "<=", bound))
            if "LlamaIndex" in times and name.endswith(" 5"):
                rows.append((f"{name}, beside LlamaIndex's auto-merging", times[name] / times["LlamaIndex"], "<=", 1.0))
    if keys:
        few = medians({"filter": filtered_windows(bench, bench.client), "ours": work["windows, k = 5"]}, questions[:10])
        rows.append(("windows, times faster than by a metadata filter", few["filter"] / few["ours"], ">=", 50.0))
    rows.append(("add, throughput beside plain Chroma's", bench.ratios["add, throughput beside plain Chroma's"], ">=", 0.8))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="how many leaves each collection gets")
    parser.add_argument("--queries", type=int, default=300, help="how many questions each is asked")
    options = parser.parse_args()
    words = [word for document in example_documents() for word in document.text.split() if len(word) > 4]
    generator = random.Random(11)
    questions = [f"{' '.join(generator.choices(words, k=7))}?" for _ in range(options.queries - len(EXAMPLE_QUESTIONS))]
    questions = [*EXAMPLE_QUESTIONS, *questions]
    failed = False
    for keys in ({}, USER_KEYS):
        folder = Path(tempfile.mkdtemp())
        try:
            bench = build(folder, options.leaves, keys)
            print(f"\n{bench.leaves:,} leaves, {len(keys)} metadata keys, {CANDIDATES} candidates")
            for what, ratio, sign, bound in measure(bench, questions, keys=len(keys)):
                holds = ratio <= bound if sign == "<=" else ratio >= bound
                failed |= not holds
                print(f"  {'holds' if holds else 'FAILS'}  {ratio:7.2f} {sign} {bound:<5g} {what}")
            bench.index.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    seconds = import_cost()
    failed |= seconds > 0.2
    verdict = "holds" if seconds <= 0.2 else "FAILS"
    print(f"\n  {verdict}  {seconds:7.2f} <= 0.2   seconds of import langchain_ext over langchain_core")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
