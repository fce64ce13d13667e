"""How long a retrieval takes, beside a plain Chroma query, and beside a peer.

    python benchmarks/latency.py [--leaves 100000] [--queries 300] [--data FOLDER] [--folder FOLDER] [--json FILE]
                                 [--embedder wordllama] [--dimensions 256 1536]

leafspan's retrievers for LangChain are asked for five passages (some of them also for 24), in turns with a plain Chroma
query for 24 records, with documents and metadata, over the same leaves. Both sides include embedding the question. A figure
is the median of the ratios of the turns, with their middle half, since a time alone means little on another machine. Recall
is the share of the 24 nearest leaves that are found; numpy computes these. One corpus consists of shuffled sentences of the
example articles, so that nothing is downloaded, another one of made-up words, whose vectors lie close together. With
``--data``, the question sets in that folder replace the sentences, and their questions are asked. With ``--folder``, what
is stored there is used again. ``--dimensions`` maps the embedder's vectors to vectors of other lengths, and measures each.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from corpus import Corpus, add_to_plain, mapped, plain_client, plain_collection, questions
from measures.storing import size_of
from peers.llamaindex_peers import Nodes
from question_sets import add_data_option, evenly_spaced, load_documents, load_questions, what_is_absent
from results import Figure, add_json_option, all_passed, print_figures, write_results
from side_by_side import Times, seconds, take_turns

import langchain_ext
from leafspan import Document, Embedder, Index, Vector
from leafspan.embedding import to_embedder

CANDIDATES = 24
SETS = ("squad", "covidqa", "scifact", "hotpotqa", "long_documents", "filings", "cranfield")
QUESTIONS_OF_A_SET = 50
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
        disk: Disk space as a multiple of the plain collection's.

        ``throughput`` and ``disk`` are None if the collections of an earlier run are used again.
    """

    corpus: Corpus
    index: Index
    client: Any
    plain: Any
    throughput: float | None
    disk: float | None


def build(folder: Path, corpus: Corpus) -> Bench:
    """Add the same leaves to an index and to a plain collection in turns. Stored ones are kept."""
    if (folder / "done").exists():
        client = plain_client(folder / "plain")
        plain = client.get_collection("plain", embedding_function=None)
        return Bench(corpus, Index.open(folder / "ours", embedder=corpus.model), client, plain, None, None)
    shutil.rmtree(folder, ignore_errors=True)
    index = Index.open(folder / "ours", embedder=corpus.embedder())
    client = plain_client(folder / "plain")
    plain = plain_collection(client)
    ours = theirs = 0.0
    for documents, rows in corpus.groups():
        ours += seconds(lambda documents=documents: index.add(documents, progress=False))  # type: ignore[misc]
        theirs += seconds(lambda rows=rows: add_to_plain(plain, corpus, rows))  # type: ignore[misc]
    index.close()
    disk = size_of(folder / "ours") / size_of(folder / "plain")
    (folder / "done").touch()
    return Bench(corpus, Index.open(folder / "ours", embedder=corpus.model), client, plain, theirs / ours, disk)


def plain_query(bench: Bench) -> Callable[[str], Any]:
    """The plain Chroma query, which all others are compared with."""

    def ask(question: str) -> Any:
        return bench.plain.query(
            query_embeddings=bench.corpus.model.queries([question]),
            n_results=CANDIDATES,
            include=["documents", "metadatas", "distances"],
        )

    return ask


def filtered_windows(bench: Bench) -> Callable[[str], Any]:
    """The windows of the first five hits, each fetched by a filter on document and position.

    This is how it works without computable ids. The records with these two keys are in a separate collection, whose
    vectors do not matter.
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
    """Seconds that ``import langchain_ext`` takes after ``import langchain_core.retrievers``: the median of seven."""
    program = (
        "import time, langchain_core.retrievers; started = time.perf_counter(); import langchain_ext; "
        "print(time.perf_counter() - started)"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(7)]
    return statistics.median(float(run.stdout) for run in runs)


Bounds = Mapping[str, Mapping[int, float | None]]
BOUNDS: Bounds = {
    "Vector": {5: 0.6},
    "auto-merging": {5: 0.7, 24: 2.0},
    "windows": {5: 0.7, 24: 2.0},
    "parents": {5: 0.7, 24: 2.8},
    "Hybrid": {5: None},
    "RelevantSegments": {5: None},
    "BM25": {5: 0.4},
}
"""The longest time of a retriever, by the number of passages, as a multiple of a plain query's time. None: any time.

The bounds hold if leaves have metadata, as most leaves do. Without metadata, a plain query reads less. There, five passages
may take ``WITHOUT_METADATA`` times as long.
"""
WITHOUT_METADATA = 1.6
REAL_TEXT: Bounds = {
    "Vector": {5: 0.65},
    "auto-merging": {5: 0.8},
    "windows": {5: 0.8},
    "parents": {5: 0.8},
    "Hybrid": {5: 1.4},
    "RelevantSegments": {5: 1.9},
    "BM25": {5: 0.3},
}
"""The same for real texts with four metadata keys and their questions."""
MADE_UP_WORDS: Bounds = {"Vector": {5: 1.0}, "Hybrid": {5: 2.0}}
"""The same for made-up words."""
BESIDE: Sequence[tuple[str, str, float | None]] = (("RelevantSegments", "Hybrid", 1.5),)
"""A retriever, another one, and how many times as long the first may take. Both return five passages.

``Hybrid`` is compared with the ``Hybrid`` of commit 5778116, before it had larger nodes, soft matches and references: at
most 1.6 times (``two_checkouts.py``).
"""


def retrievers(index: Index, k: int) -> dict[str, Any]:
    """The leafspan retrievers for LangChain, with vectors as base if they have a base."""
    spans: dict[str, Any] = {"index": index, "base": Vector(), "k": k, "candidates": CANDIDATES}
    return {
        "Vector": langchain_ext.VectorRetriever(index=index, k=k),
        "auto-merging": langchain_ext.AutoMergingRetriever(**spans),
        "windows": langchain_ext.SentenceWindowRetriever(**spans),
        "parents": langchain_ext.ParentDocumentRetriever(**spans),
        "Hybrid": langchain_ext.HybridRetriever(index=index, k=k),
        "RelevantSegments": langchain_ext.RelevantSegmentsRetriever(index=index, k=k),
        "BM25": langchain_ext.BM25Retriever(index=index, k=k),
    }


def beside(times: Times, name: str, other: str, what: str, bound: float | None, part: str) -> Figure:
    """The time of one retriever over the time of another one, with a bound if there is one."""
    middle, low, high = times.ratio(name, other)
    return Figure(what, middle, None if bound is None else "<=", bound, part, (low, high))


def recalls(bench: Bench, asked: Sequence[str], part: str) -> Iterator[Figure]:
    """How many of the nearest leaves Vector and the plain collection find."""
    found = langchain_ext.VectorRetriever(index=bench.index, k=CANDIDATES)
    query = plain_query(bench)
    ours = [bench.corpus.recall(each, [document.id for document in found.invoke(each)], CANDIDATES) for each in asked]
    theirs = [bench.corpus.recall(each, query(each)["ids"][0], CANDIDATES) for each in asked]
    yield Figure("Vector, recall of the exact nearest", statistics.fmean(ours), ">=", 1.0, part)
    yield Figure("plain query, recall of the exact nearest", statistics.fmean(theirs), part=part)


def times_of(bench: Bench, asked: Sequence[str], limits: Bounds, others: Mapping[str, Any]) -> Times:
    """The times of the retrievers, of a plain query, and of others, in turns."""
    work: dict[str, Callable[[str], Any]] = {"plain": plain_query(bench), **others}
    for k in (5, 24):
        few = retrievers(bench.index, k)
        work |= {f"{name}, k = {k}": few[name].invoke for name, bounds in limits.items() if k in bounds}
    return take_turns(work, asked)


def beside_plain(times: Times, limits: Bounds, part: str, *, more: float = 1.0) -> Iterator[Figure]:
    """The times of the retrievers as multiples of a plain query's."""
    yield Figure("a plain query, ms", 1000 * times.median("plain"), part=part)
    for name, bounds in limits.items():
        for k, bound in bounds.items():
            yield beside(times, f"{name}, k = {k}", "plain", f"{name}, k = {k}, beside a plain query", bound, part)


def measure_shuffled(bench: Bench, asked: Sequence[str], *, keys: int) -> Iterator[Figure]:
    """The figures for shuffled sentences, with ``keys`` metadata keys."""
    part = f"{keys} metadata keys"
    others: dict[str, Callable[[str], Any]] = {}
    limits: Bounds = BOUNDS
    if keys == 0:
        nodes = Nodes(bench.client, bench.corpus)
        nodes.add(slice(0, len(bench.corpus.ids)))
        others["LlamaIndex"] = nodes.auto_merging().ask
        limits = {
            name: {k: WITHOUT_METADATA if k == 5 and most else most for k, most in each.items()}
            for name, each in BOUNDS.items()
        }
    times = times_of(bench, asked, limits, others)
    yield from beside_plain(times, limits, part)
    for name, other, bound in BESIDE:
        yield beside(times, f"{name}, k = 5", f"{other}, k = 5", f"{name}, k = 5, beside {other}", bound, part)
    yield from recalls(bench, asked, part)
    if others:
        for name in ("auto-merging", "windows", "parents"):
            what = f"{name}, k = 5, beside LlamaIndex's auto-merging"
            yield beside(times, f"{name}, k = 5", "LlamaIndex", what, 1.0, part)
    if keys:
        ours = retrievers(bench.index, 5)["windows"].invoke
        middle, *half = take_turns({"filter": filtered_windows(bench), "ours": ours}, asked[:10], warm=2).ratio(
            "filter", "ours"
        )
        name = "windows, times faster than by a metadata filter"
        yield Figure(name, middle, ">=", 50.0, part, (half[0], half[1]))
    if bench.throughput is not None and bench.disk is not None:
        yield Figure("add, throughput beside plain Chroma's", bench.throughput, ">=", 0.85, part)
        yield Figure("disk space, beside plain Chroma's", bench.disk, "<=", 2.2, part)


def real_texts(data: Path) -> tuple[Corpus, list[str]]:
    """The documents of all sets, with four metadata keys, and their questions."""
    documents, asked = [], []
    for name in SETS:
        documents += [
            Document(
                f"{name}/{each['id']}", each["text"], each["title"], metadata={**USER_KEYS, "book": number, "set": name}
            )
            for number, each in enumerate(load_documents(data, name))
        ]
        asked.append([each["text"] for each in evenly_spaced(load_questions(data, name), QUESTIONS_OF_A_SET)])
    return Corpus.of(documents), [question for row in zip_longest(*asked) for question in row if question]


def parts(arguments: argparse.Namespace, folder: Path, model: Embedder) -> Iterator[Iterable[Figure]]:
    """The figures of each pair of collections, one pair after the other."""

    def stored(corpus: Corpus, what: str) -> Bench:
        print(f"\n{len(corpus.ids):,} leaves, {what}, {CANDIDATES} candidates, {model.name}")
        return build(folder / what.replace(" ", "-"), replace(corpus, model=model))

    if arguments.data is None:
        asked = questions(arguments.queries)
        for keys in ({}, USER_KEYS):
            bench = stored(Corpus.made(arguments.leaves, keys), f"{len(keys)} metadata keys")
            yield measure_shuffled(bench, asked, keys=len(keys))
            bench.index.close()
    else:
        corpus, asked = real_texts(arguments.data)
        bench = stored(corpus, "real texts")
        yield beside_plain(times_of(bench, asked[: arguments.queries], REAL_TEXT, {}), REAL_TEXT, "real texts")
        bench.index.close()
    if arguments.dimensions:
        return
    corpus, asked = Corpus.made_up(arguments.leaves)
    bench = stored(corpus, "made-up words")
    yield beside_plain(times_of(bench, asked[: arguments.queries], MADE_UP_WORDS, {}), MADE_UP_WORDS, "made-up words")
    bench.index.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--leaves", type=int, default=100_000, help="number of leaves of each collection, but of real texts"
    )
    parser.add_argument("--queries", type=int, default=300, help="number of questions")
    parser.add_argument("--folder", type=Path, help="folder to store the collections in, and to use them again")
    parser.add_argument("--embedder", default="wordllama", help="embedder of leaves and questions")
    parser.add_argument(
        "--dimensions", type=int, nargs="+", help="dimensions to map vectors to. Default: the embedder's own"
    )
    add_data_option(parser, required=False)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.dimensions and arguments.data is None:
        parser.error("--dimensions needs --data: a map of real texts' vectors")
    if arguments.data is not None and (absent := what_is_absent(arguments.data, SETS)):
        parser.error(absent)
    folder = arguments.folder or Path(tempfile.mkdtemp())
    figures: list[Figure] = []
    try:
        base = to_embedder(arguments.embedder)
        for dimension in arguments.dimensions or [None]:
            model = base if dimension is None else mapped(base, dimension)
            for each in parts(arguments, folder / str(dimension or ""), model):
                figures += print_figures(each)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    print()
    figures += print_figures([Figure("seconds of import langchain_ext over langchain_core", import_cost(), "<=", 0.2)])
    write_results("latency", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
