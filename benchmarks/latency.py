"""How long a retrieval takes, beside what it is built on and beside its peer.

    python benchmarks/latency.py [--leaves 100000] [--queries 300] [--json FILE]

Retrievers of leafspan for LangChain are asked for five passages (some of them also for 24), in turns with a plain Chroma
query for 24 records, with documents and metadata, over the same leaves. Embedding the question counts on both sides. A
figure is the median of the ratios of the turns, with their middle half: a bare time means little on another machine. Recall
is the share of the 24 nearest leaves that are found, as numpy says which they are. The corpus is made of shuffled sentences
of the example articles, so nothing is downloaded.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus import WORDLLAMA, Corpus, add_to_plain, plain_client, plain_collection, questions
from measures.storing import size_of
from peers.llamaindex_peers import Nodes
from results import Figure, add_json_option, all_passed, print_figures, write_results
from side_by_side import Times, seconds, take_turns

import langchain_ext
from leafspan import Index, Vector

CANDIDATES = 24
USER_KEYS = {"book": 1, "language": "en", "rating": 4.5, "checked": True}


@dataclass
class Bench:
    """The same leaves in an index and in a plain Chroma collection.

    Attributes:
        corpus: The leaves.
        index: The index.
        client: Chroma client of the plain collection.
        plain: The plain collection.
        throughput: Throughput of ``add`` as a share of the plain collection's.
        disk: Disk space in times of the plain collection's.
    """

    corpus: Corpus
    index: Index
    client: Any
    plain: Any
    throughput: float
    disk: float


def build(folder: Path, leaves: int, keys: Mapping[str, Any]) -> Bench:
    """The same leaves, added to an index and to a plain collection in turns."""
    corpus = Corpus.made(leaves, keys)
    index = Index.open(folder / "ours", embedder=corpus.embedder())
    client = plain_client(folder / "plain")
    plain = plain_collection(client)
    ours = theirs = 0.0
    for documents, rows in corpus.groups():
        ours += seconds(lambda documents=documents: index.add(documents, progress=False))  # type: ignore[misc]
        theirs += seconds(lambda rows=rows: add_to_plain(plain, corpus, rows))  # type: ignore[misc]
    index.close()
    disk = size_of(folder / "ours") / size_of(folder / "plain")
    return Bench(corpus, Index.open(folder / "ours"), client, plain, theirs / ours, disk)


def plain_query(bench: Bench) -> Callable[[str], Any]:
    """A plain Chroma query, to which all others are compared."""

    def ask(question: str) -> Any:
        return bench.plain.query(
            query_embeddings=WORDLLAMA.queries([question]),
            n_results=CANDIDATES,
            include=["documents", "metadatas", "distances"],
        )

    return ask


def filtered_windows(bench: Bench) -> Callable[[str], Any]:
    """The windows of the first five hits, each fetched by a filter on document and position.

    This is how it is done if ids are not computable. The records with these two keys are in a collection of their own,
    whose vectors do not matter.
    """
    corpus = bench.corpus
    positions = bench.client.create_collection("positions", embedding_function=None)
    places = [id_.split("#") for id_ in corpus.ids]
    for first in range(0, len(places), 5000):
        some = slice(first, first + 5000)
        positions.add(
            ids=corpus.ids[some],
            embeddings=[[float(first + i), 1.0] for i in range(len(places[some]))],
            documents=corpus.texts[some],
            metadatas=[{"document": document, "position": int(position)} for document, _, position in places[some]],
        )
    query = plain_query(bench)

    def ask(question: str) -> Any:
        for id_ in query(question)["ids"][0][:5]:
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


PLAIN_HYBRID = "Hybrid of words, vectors and neighbours"
BOUNDS: dict[str, dict[int, float | None]] = {
    "Vector": {5: 0.6},
    "auto-merging": {5: 0.7, 24: 2.0},
    "windows": {5: 0.7, 24: 2.0},
    "parents": {5: 0.7, 24: 2.8},
    PLAIN_HYBRID: {5: 0.9},
    "Hybrid": {5: None},
    "RelevantSegments": {5: None},
    "BM25": {5: 0.4},
}
"""The most time that a retriever may take, by the number of passages, as a multiple of a plain query's. None: any time.

They hold where leaves have metadata, as they mostly do: without, a plain query has less to read. There, five passages may
take ``WITHOUT_METADATA`` times as long.
"""
WITHOUT_METADATA = 1.6
BESIDE: Sequence[tuple[str, str, float | None]] = (("Hybrid", PLAIN_HYBRID, None), ("RelevantSegments", "Hybrid", 1.5))
"""A retriever, another one, and how many times as long the first may take. Both return five passages. None: any time.

``Hybrid`` is bounded beside that of commit 5778116, before it had larger nodes, soft matches and references: at most 1.6
times (``two_checkouts.py``). What is left of it today, words, vectors and neighbours, has become faster with the rest.
"""


def retrievers(index: Index, k: int) -> dict[str, Any]:
    """The retrievers of leafspan for LangChain, over vectors where they have a base."""
    spans: dict[str, Any] = {"index": index, "base": Vector(), "k": k, "candidates": CANDIDATES}
    return {
        "Vector": langchain_ext.VectorRetriever(index=index, k=k),
        "auto-merging": langchain_ext.AutoMergingRetriever(**spans),
        "windows": langchain_ext.SentenceWindowRetriever(**spans),
        "parents": langchain_ext.ParentDocumentRetriever(**spans),
        PLAIN_HYBRID: langchain_ext.HybridRetriever(index=index, k=k, scales=(0, 0, 0), soft_matches=0, references=0),
        "Hybrid": langchain_ext.HybridRetriever(index=index, k=k),
        "RelevantSegments": langchain_ext.RelevantSegmentsRetriever(index=index, k=k),
        "BM25": langchain_ext.BM25Retriever(index=index, k=k),
    }


def beside(times: Times, name: str, other: str, what: str, bound: float | None, part: str) -> Figure:
    """The time of something over that of another one, which must not be above a bound, if there is one."""
    middle, low, high = times.ratio(name, other)
    return Figure(what, middle, None if bound is None else "<=", bound, part, (low, high))


def recalls(bench: Bench, asked: Sequence[str], part: str) -> Iterator[Figure]:
    """How many of the nearest leaves are found: by Vector, and by the plain collection."""
    found = langchain_ext.VectorRetriever(index=bench.index, k=CANDIDATES)
    query = plain_query(bench)
    ours = [bench.corpus.recall(each, [document.id for document in found.invoke(each)], CANDIDATES) for each in asked]
    theirs = [bench.corpus.recall(each, query(each)["ids"][0], CANDIDATES) for each in asked]
    yield Figure("Vector, recall of the exact nearest", statistics.fmean(ours), ">=", 1.0, part)
    yield Figure("plain query, recall of the exact nearest", statistics.fmean(theirs), part=part)


def measure(bench: Bench, asked: Sequence[str], *, keys: int) -> Iterator[Figure]:
    """The figures of one pair of collections, with ``keys`` metadata keys."""
    part = f"{keys} metadata keys"
    work: dict[str, Callable[[str], Any]] = {"plain": plain_query(bench)}
    for k in (5, 24):
        few = retrievers(bench.index, k)
        work |= {f"{name}, k = {k}": few[name].invoke for name, bounds in BOUNDS.items() if k in bounds}
    if keys == 0:
        nodes = Nodes(bench.client, bench.corpus)
        nodes.add(slice(0, len(bench.corpus.ids)))
        work["LlamaIndex"] = nodes.auto_merging().ask
    times = take_turns(work, asked)
    plain = 1000 * times.median("plain")
    print(f"  a plain query takes {plain:.2f} ms")
    yield Figure("a plain query, ms", plain, part=part)
    for name, bounds in BOUNDS.items():
        for k, bound in bounds.items():
            most = WITHOUT_METADATA if k == 5 and bound is not None and keys == 0 else bound
            yield beside(times, f"{name}, k = {k}", "plain", f"{name}, k = {k}, beside a plain query", most, part)
    for name, other, bound in BESIDE:
        yield beside(times, f"{name}, k = 5", f"{other}, k = 5", f"{name}, k = 5, beside {other}", bound, part)
    yield from recalls(bench, asked, part)
    if "LlamaIndex" in work:
        for name in ("auto-merging", "windows", "parents"):
            what = f"{name}, k = 5, beside LlamaIndex's auto-merging"
            yield beside(times, f"{name}, k = 5", "LlamaIndex", what, 1.0, part)
    if keys:
        windows = {"filter": filtered_windows(bench), "ours": work["windows, k = 5"]}
        middle, *half = take_turns(windows, asked[:10], warm=2).ratio("filter", "ours")
        name = "windows, times faster than by a metadata filter"
        yield Figure(name, middle, ">=", 50.0, part, (half[0], half[1]))
    yield Figure("add, throughput beside plain Chroma's", bench.throughput, ">=", 0.85, part)
    yield Figure("disk space, beside plain Chroma's", bench.disk, "<=", 2.2, part)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="number of leaves of each collection")
    parser.add_argument("--queries", type=int, default=300, help="number of questions")
    add_json_option(parser)
    arguments = parser.parse_args()
    asked = questions(arguments.queries)
    figures: list[Figure] = []
    for keys in ({}, USER_KEYS):
        folder = Path(tempfile.mkdtemp())
        try:
            bench = build(folder, arguments.leaves, keys)
            print(f"\n{len(bench.corpus.ids):,} leaves, {len(keys)} metadata keys, {CANDIDATES} candidates")
            figures += print_figures(measure(bench, asked, keys=len(keys)))
            bench.index.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print()
    figures += print_figures([Figure("seconds of import langchain_ext over langchain_core", import_cost(), "<=", 0.2)])
    write_results("latency", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
