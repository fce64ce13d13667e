"""Filtered search beside Chroma's own, on the same collection.

    python benchmarks/filtered.py [--leaves 100000] [--queries 40] [--server] [--json FILE]

The documents have twenty leaves each, with vectors in clusters. Filters match 100, 10, 1 and 0.1 % of the documents. Each
query goes through ``index.retrieve``, which includes deciding the filter, and as Chroma's ``query(where=...)`` for the same
number of results with texts and metadata, in turns. "Fresh" is a new filter each time, "again" the same filter each time.
Recall is the share of the exact answer that is found.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from numpy.typing import NDArray
from results import Figure, add_json_option, all_passed, write_results
from side_by_side import take_turns

from leafspan import Document, F, HierarchicalSplitter, Hybrid, Index, Query, Vector

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the server that the tests start

CANDIDATES = 24
LEAVES = 20  # per document
DIMENSIONS = 256
SHARES = {"100 %": 1.0, "10 %": 0.1, "1 %": 0.01, "0.1 %": 0.001}
BOUNDS = {"100 %": 5.0, "10 %": 5.0, "1 %": 2.0, "0.1 %": 10.0}  # times as fast as Chroma


Where = Callable[[int], Any]
"""The filter for the query with a number."""


@dataclass
class Bench:
    """An index to measure.

    Attributes:
        index: The index.
        collection: The Chroma collection with its leaves.
        vectors: Vectors of the leaves, in the order of the documents.
        documents: Number of documents.
    """

    index: Index
    collection: Any
    vectors: NDArray[np.float32]
    documents: int


@dataclass(frozen=True)
class Filter:
    """A filter on a range of documents.

    Attributes:
        ours: The filter as ``F`` makes it.
        theirs: The filter in Chroma's dialect.
        first: Number of the first matching document.
        last: Number of the first document after the matching ones.
    """

    ours: Any
    theirs: dict[str, Any]
    first: int
    last: int


def make_vectors(documents: int) -> NDArray[np.float32]:
    """Unit vectors. Cosines are about 0.33 within a document and 0.17 within a topic, as in real texts."""
    generator = np.random.default_rng(3)
    topics = generator.standard_normal((300, DIMENSIONS))
    centres = topics[generator.integers(0, 300, documents)] + generator.standard_normal((documents, DIMENSIONS))
    vectors = 0.5 * np.repeat(centres, LEAVES, axis=0) + generator.standard_normal((documents * LEAVES, DIMENSIONS))
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def make_documents(documents: int) -> Iterator[Document]:
    """Documents whose leaves are sentences that begin with their number. Words are as frequent as in real text (Zipf)."""
    generator = np.random.default_rng(5)
    for number in range(documents):
        words = generator.zipf(1.3, (LEAVES, 16)) % 50_000
        sentences = [f"Leaf {number * LEAVES + i} {' '.join(f'w{w}' for w in row)}." for i, row in enumerate(words)]
        groups = {"all": "yes", "tenth": number % 10, "hundredth": number % 100, "thousandth": number % 1000}
        yield Document(f"d{number}", " ".join(sentences), metadata={"number": number, **groups})


def build(place: Path | None, client: Any, leaves: int) -> Bench:
    """An index whose embedder looks up the number in a leaf's text."""
    documents = leaves // LEAVES
    vectors = make_vectors(documents)

    def embed(texts: list[str]) -> NDArray[np.float32]:
        # The only text that is not a leaf is the probe by which an index recognises its embedder.
        return np.array([vectors[int(text.split()[1]) if text.startswith("Leaf ") else 0] for text in texts])

    splitter = HierarchicalSplitter(leaf_words=20, parent_words=(100,))
    index = Index.open(place, client=client, embedder=embed, splitter=splitter, cache_dir=place and place.parent / "cache")
    index.add(make_documents(documents), progress=False)
    if (found := index.stats().leaves) != documents * LEAVES:
        raise AssertionError(f"every sentence must be a leaf: {documents * LEAVES} sentences, {found} leaves")
    return Bench(index, index.client.get_collection("kb.leaves", embedding_function=None), vectors, documents)


def fresh_filters(bench: Bench, share: float, count: int) -> list[Filter]:
    """Ranges of documents that are all different."""
    if share == 1.0:
        bounds = [(-1 - i, 2 * bench.documents + i) for i in range(count)]
    else:
        wide = max(1, round(share * bench.documents))
        firsts = np.random.default_rng(9).permutation(bench.documents - wide)[:count]
        bounds = [(int(first), int(first) + wide) for first in firsts]
    return [
        Filter(
            (F("number") >= first) & (F("number") < last),
            {"$and": [{"number": {"$gte": first}}, {"number": {"$lt": last}}]},
            max(first, 0),
            min(last, bench.documents),
        )
        for first, last in bounds
    ]


KEYS = {1.0: ("all", "yes"), 0.1: ("tenth", 3), 0.01: ("hundredth", 3), 0.001: ("thousandth", 3)}


def ways_to_ask(filters: Sequence[Filter], share: float) -> dict[str, tuple[Where, Where]]:
    """A filter that is new for each query, and one that stays the same: in leafspan's language and in Chroma's."""
    key, value = KEYS[share]
    return {
        "fresh": (lambda i: filters[i].ours, lambda i: filters[i].theirs),
        "again": (lambda _: F(key) == value, lambda _: {key: value}),
    }


def measure(bench: Bench, queries: int) -> list[Figure]:
    """Print a line for each share and way of asking, and return what was measured."""
    generator = np.random.default_rng(7)
    near = generator.integers(0, len(bench.vectors), queries)
    asked = bench.vectors[near] + generator.standard_normal((queries, DIMENSIONS)).astype(np.float32) / DIMENSIONS**0.5
    words = [f"w{a} w{b} w{c}" for a, b, c in generator.zipf(1.3, (queries, 3)) % 50_000]
    figures: list[Figure] = []

    def ours(strategy: Any, where: Any, text: bool) -> Callable[[int], list[int]]:
        def ask(i: int) -> list[int]:
            query = Query(words[i], tuple(asked[i].tolist())) if text else asked[i]
            found = bench.index.retrieve(query, strategy, k=CANDIDATES, candidates=CANDIDATES, where=where(i))
            return [int(passage.text.split()[1]) for passage in found]

        return ask

    def theirs(where: Any) -> Callable[[int], list[int]]:
        def ask(i: int) -> list[int]:
            include = ["documents", "metadatas", "distances"]
            found = bench.collection.query(asked[i], n_results=CANDIDATES, where=where(i), include=include)
            return [int(text.split()[1]) for text in found["documents"][0]]

        return ask

    for name, share in SHARES.items():
        filters = fresh_filters(bench, share, queries)
        for way, (our_where, their_where) in ways_to_ask(filters, share).items():
            asks = {
                "Chroma": theirs(their_where),
                "Vector": ours(Vector(), our_where, False),
                "Hybrid": ours(Hybrid(), our_where, True),
            }
            times = take_turns(asks, range(queries), warm=0).after(2)
            chroma = times.median("Chroma")
            figures.append(Figure(f"Chroma, {name}, {way}: ms", chroma * 1000))
            for what in ("Vector", "Hybrid"):
                taken = times.median(what)
                label = f"{what}, {name}, {way}: times as fast as Chroma"
                middle, *half = times.ratio("Chroma", what)
                figure = Figure(label, middle, ">=", BOUNDS[name], middle_half=(half[0], half[1]))
                print(
                    f"  {'PASS' if figure.passed else 'FAIL'}  {figure.value:7.2f} >= {figure.bound:<4g} {figure.name} "
                    f"({taken * 1000:.2f} ms, {chroma * 1000:.2f} ms)"
                )
                figures += [figure, Figure(f"{what}, {name}, {way}: ms", taken * 1000)]
            if way == "fresh":
                found = [recall(bench, filters, asked, ask, queries) for ask in (asks["Chroma"], asks["Vector"])]
                figure = Figure(f"Vector, {name}: recall, beside Chroma's", found[1], ">=", found[0])
                verdict = "PASS" if figure.passed else "FAIL"
                print(f"  {verdict}  {found[1]:7.4f} >= {found[0]:.4f} {figure.name}")
                figures.append(figure)
    return figures


def recall(bench: Bench, filters: Sequence[Filter], asked: Any, ask: Callable[[int], list[int]], queries: int) -> float:
    """The mean share of the exact nearest leaves that are found."""
    shares = []
    for i in range(queries):
        first, last = filters[i].first * LEAVES, filters[i].last * LEAVES
        exact = np.argsort(-(bench.vectors[first:last] @ asked[i]), kind="stable")[:CANDIDATES] + first
        shares.append(len(set(ask(i)) & set(exact.tolist())) / len(exact))
    return statistics.fmean(shares)


@contextmanager
def opened(leaves: int, server: bool) -> Iterator[Bench]:
    """The index in a folder, or behind a server with a folder."""
    folder = Path(tempfile.mkdtemp())
    try:
        if not server:
            bench = build(folder / "kb", None, leaves)
            yield bench
            bench.index.close()
            return
        from tests.server import running_server

        with running_server(folder) as (host, port):
            client = chromadb.HttpClient(host, port, settings=chromadb.Settings(anonymized_telemetry=False))
            yield build(None, client, leaves)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, help="number of leaves; 100,000 in a folder, 20,000 on a server by default")
    parser.add_argument("--queries", type=int, default=40, help="number of queries of each kind")
    parser.add_argument("--server", action="store_true", help="on a Chroma server")
    add_json_option(parser)
    arguments = parser.parse_args()
    arguments.leaves = arguments.leaves or (20_000 if arguments.server else 100_000)
    with opened(arguments.leaves, arguments.server) as bench:
        place = "on a server" if arguments.server else "in a folder"
        print(f"\n{arguments.leaves:,} leaves {place}, the best {CANDIDATES}")
        figures = measure(bench, arguments.queries)
    write_results("filtered", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
