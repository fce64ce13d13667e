"""BM25 beside the libraries bm25s and rank-bm25, and the cost of keeping it current.

    python benchmarks/lexical.py [--leaves 100000] [--queries 200] [--data FOLDER] [--json FILE]

Everything is compared within one run, by ratios of medians or by differences. The corpus consists of the words of the
example articles: sentences of shuffled words with made-up names, with frequencies as in real text (Zipf). With ``--data``,
the text files of a folder replace it. Both sides get the same terms. Chroma's part of a step is the time within the methods
of its embedded client, measured where they are called.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import Figure, add_json_option, all_passed, print_figures, write_results
from side_by_side import clocked, medians

from leafspan import (
    BM25,
    Analyzer,
    BM25Settings,
    Document,
    HierarchicalSplitter,
    Hybrid,
    Index,
    Query,
    RelevantSegments,
    Strategy,
)
from leafspan.documents import read_documents
from leafspan.examples import example_documents
from leafspan.lexical import to_terms
from leafspan.strategies import (
    Candidate,
    Embed,
    LeafId,
    LexicalSearch,
    Load,
    RetrievalContext,
    StrategyFlow,
    VectorSearch,
)
from leafspan.strategies._hybrid_pool import VECTORS, WORDS

CANDIDATES = 24
SETTINGS = BM25Settings(k1=1.5, b=0.75)
SENTENCES = 20  # per document
DIMENSIONS = 256
SPLITTER = HierarchicalSplitter(leaf_words=30, parent_words=(150,))


def embed(texts: list[str]) -> NDArray[np.float32]:
    """Random vectors, the same for the same texts. Only their computing time matters here."""
    generator = np.random.default_rng(zlib.crc32(texts[0].encode()))
    return generator.standard_normal((len(texts), DIMENSIONS)).astype(np.float32)


def words_of(text: str) -> list[str]:
    return [word for word in text.split() if word.isalpha()]


def make_sentences() -> Iterator[str]:
    """Sentences without end: words of the articles at their own frequencies, and a name in every fourth place."""
    generator = random.Random(7)
    words = [word for document in example_documents() for word in words_of(document.text)]
    names = np.random.default_rng(7)
    while True:
        ranks = iter((names.zipf(1.25, 40_000) % 300_000).tolist())
        for rank in ranks:
            chosen = generator.choices(words, k=generator.randint(9, 24))
            chosen[::4] = [f"na{next(ranks, rank):x}me" for _ in chosen[::4]]
            yield " ".join(chosen).capitalize() + "."


def make_documents(data: Path | None) -> Iterator[Document]:
    """The documents of the folder, or made-up documents without end."""
    if data is not None:
        yield from read_documents(data)
        return
    sentences = make_sentences()
    for number in itertools.count():
        yield Document(f"d{number}", " ".join(itertools.islice(sentences, SENTENCES)), metadata={"number": number})


def open_at(folder: Path) -> Index:
    return Index.open(folder / "kb", embedder=embed, splitter=SPLITTER)


def build(folder: Path, leaves: int, data: Path | None) -> Index:
    """Make an index of ``leaves`` leaves. Its words are indexed at the first query."""
    index = open_at(folder)
    there = 0
    documents = make_documents(data)
    while there < leaves and (chunk := list(itertools.islice(documents, 500))):
        index.add(chunk, progress=False)
        there = index.stats().leaves
    return index


def make_queries(texts: Sequence[str], count: int) -> list[str]:
    """Questions of three to eight words of one leaf."""
    generator = random.Random(11)
    queries: list[str] = []
    while len(queries) < count:
        words = words_of(generator.choice(texts))
        if len(words) > 3:
            queries.append(" ".join(generator.choices(words, k=generator.randint(3, 8))))
    return queries


class Timed(Strategy):
    """A strategy that makes given requests and returns no results, to measure the time of the answers.

    Args:
        requests: Makes the requests, as the ``retrieve`` of a strategy does.
    """

    def __init__(self, requests: Callable[[], StrategyFlow[Any]]) -> None:
        self._requests = requests
        self.seconds = 0.0
        self.answer: Any = None

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        started = time.perf_counter()
        self.answer = yield from self._requests()
        self.seconds = time.perf_counter() - started
        return [[] for _ in queries]


def timed(index: Index, requests: Callable[[], StrategyFlow[Any]]) -> Timed:
    """The requests, answered by the index."""
    strategy = Timed(requests)
    index.retrieve("anything", strategy)
    return strategy


def match_words(query: str, count: int, settings: BM25Settings | None = None) -> StrategyFlow[Any]:
    return (yield LexicalSearch((query,), count, None, settings))


def embed_and_search(query: str, count: int) -> StrategyFlow[Any]:
    return (yield VectorSearch((yield Embed((query,))), count, None))


def load(ids: Sequence[str]) -> StrategyFlow[Any]:
    return (yield Load(tuple(map(LeafId.parse, ids))))


def queries_beside_peers(index: Index, texts: Sequence[str], queries: Sequence[str]) -> Iterator[Figure]:
    import bm25s
    from rank_bm25 import BM25Okapi

    analyzer = Analyzer()
    terms = to_terms(analyzer, texts)
    asked = to_terms(analyzer, queries)
    theirs = bm25s.BM25(k1=SETTINGS.k1, b=SETTINGS.b, method="lucene")
    theirs.index(terms, show_progress=False)

    def ours(i: int) -> Timed:
        return timed(index, lambda: match_words(queries[i], CANDIDATES, SETTINGS))

    def peer(i: int) -> Any:
        return theirs.retrieve([asked[i]], k=CANDIDATES, show_progress=False)

    for i in range(5):
        expected = peer(i)[1][0]
        found = [hit.score for hit in ours(i).answer[0].hits]
        if not np.allclose(found, expected[: len(found)], rtol=1e-3):
            raise AssertionError(f"scores differ: {found} and {expected.tolist()}")

    def with_texts(i: int) -> Any:
        return index.retrieve(queries[i], BM25(), k=CANDIDATES)

    mine, bm25s_, whole = medians([lambda i: ours(i).seconds, clocked(peer), clocked(with_texts)], len(queries))
    print(f"  a query {mine * 1000:.2f} ms, bm25s {bm25s_ * 1000:.2f} ms, with texts from Chroma {whole * 1000:.2f} ms")
    for name, seconds in {"a query": mine, "a query of bm25s": bm25s_, "a query with texts from Chroma": whole}.items():
        yield Figure(f"{name}, ms", seconds * 1000)
    yield Figure("a query, terms to hits, beside bm25s", mine / bm25s_, "<=", 2.0)
    okapi = BM25Okapi(terms)
    # Measured separately: bm25s would empty the processor's caches for only one of the two.
    (alone,) = medians([lambda i: ours(i).seconds], len(queries))
    (slow,) = medians([clocked(lambda i: okapi.get_top_n(asked[i], range(len(terms)), CANDIDATES))], 5)
    yield Figure("a query, times faster than rank-bm25", slow / alone, ">=", 50.0)


def hybrid_beside_its_parts(index: Index, ids: Sequence[str], queries: Sequence[str]) -> Iterator[Figure]:
    """Hybrid beside its two searches and a fetch, and RelevantSegments beside Hybrid.

    Each search begins with the question's text, as in Hybrid. Each fetch reads other leaves.
    """
    generator = random.Random(3)
    work = [
        lambda i: timed(index, lambda: match_words(queries[i], WORDS)).seconds,
        lambda i: timed(index, lambda: embed_and_search(queries[i], VECTORS)).seconds,
        lambda i: timed(index, lambda: load(generator.sample(ids, CANDIDATES))).seconds,
        *(
            clocked(lambda i, asked=strategy: index.retrieve(queries[i], asked, k=CANDIDATES, candidates=CANDIDATES))
            for strategy in (Hybrid(), RelevantSegments())
        ),
    ]
    words, vectors, fetch, hybrid, segments = medians(work, len(queries))
    print(
        f"  Hybrid {hybrid * 1000:.2f} ms; words {words * 1000:.2f} ms, vectors {vectors * 1000:.2f} ms, "
        f"fetch {fetch * 1000:.2f} ms; RelevantSegments {segments * 1000:.2f} ms"
    )
    times = {
        "Hybrid": hybrid,
        "its search by words": words,
        "its search by vectors": vectors,
        "a fetch": fetch,
        "RelevantSegments": segments,
    }
    for name, seconds in times.items():
        yield Figure(f"{name}, ms", seconds * 1000)
    beside = hybrid / (max(words, vectors) + fetch)
    yield Figure("Hybrid, beside its slower search and a fetch", beside, "<=", 2.1)
    yield Figure("RelevantSegments, beside Hybrid", segments / hybrid, "<=", 1.5)


OPENING = """
import sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from leafspan import Vector
from lexical import open_at, np, BM25, DIMENSIONS
index = open_at(Path({folder!r}))
index.retrieve(np.ones(DIMENSIONS).tolist(), Vector())  # Chroma is open, and has loaded its vectors
started = time.perf_counter()
index.retrieve("first question about steam engines", BM25())
print(time.perf_counter() - started)
"""

BUILDING = """
import sys, json
from pathlib import Path
sys.path.insert(0, {here!r})
from leafspan import Vector
from lexical import open_at, np, BM25, DIMENSIONS, peak_of
index = open_at(Path({folder!r}))
index.retrieve(np.ones(DIMENSIONS).tolist(), Vector())
print(peak_of(lambda: index.retrieve("first question about steam engines", BM25())))
"""

BUILDING_BM25S = """
import sys, json
from pathlib import Path
sys.path.insert(0, {here!r})
from lexical import peak_of
import bm25s, Stemmer
texts = json.loads((Path({folder!r}) / "texts.json").read_text())
def build():
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    engine = bm25s.BM25()
    engine.index(tokens, show_progress=False)
    engine.retrieve(bm25s.tokenize("first question", show_progress=False), k=5, show_progress=False)
print(peak_of(build))
"""


def peak_of(work: Callable[[], Any]) -> float:
    """The largest rise of this process's memory during the work, in MB (Linux)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _status("VmRSS")
    work()
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def child(program: str, folder: Path) -> float:
    text = program.format(here=str(Path(__file__).parent), folder=str(folder))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout.split()[-1])


def in_fresh_processes(folder: Path, texts: Sequence[str]) -> Iterator[Figure]:
    opening = statistics.median(child(OPENING, folder) for _ in range(3))
    yield Figure("seconds to open the segments and ask first, over Chroma's", opening, "<=", 0.2)
    if not Path("/proc/self/clear_refs").exists():
        return
    (folder / "texts.json").write_text(json.dumps(list(texts)))
    theirs = child(BUILDING_BM25S, folder)
    for words in (folder / "kb" / "leafspan.segments").glob("*/words-*"):
        shutil.rmtree(words)
    ours = child(BUILDING, folder)
    print(f"  memory while building {ours:.0f} MB, bm25s {theirs:.0f} MB")
    yield Figure("memory while building, MB", ours)
    yield Figure("memory while building of bm25s, MB", theirs)
    yield Figure("memory while building, beside bm25s", ours / theirs, "<=", 1.0)


class Clock:
    """The seconds within the methods of Chroma's embedded client. If one calls another, only the outer one counts."""

    def __init__(self) -> None:
        from chromadb.api.rust import RustBindingsAPI

        self.seconds = 0.0
        self._within = False
        for name in ("_add", "_get", "_query", "_upsert", "_delete", "_update", "_count", "get_collection"):
            setattr(RustBindingsAPI, name, self._timed(getattr(RustBindingsAPI, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            if self._within:
                return function(*arguments, **options)
            self._within = True
            started = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - started
                self._within = False

        return timed


def adding_a_hundred(index: Index, queries: Sequence[str], *, rounds: int = 30) -> Iterator[Figure]:
    """Adding five documents of twenty leaves and then asking, in turns: without Chroma's own part of both."""
    clock = Clock()
    sentences = make_sentences()
    spent = []
    for number in range(rounds):
        documents = [
            Document(f"new-{number}-{i}", " ".join(itertools.islice(sentences, SENTENCES)), metadata={"number": i})
            for i in range(100 // SENTENCES)
        ]
        clock.seconds = 0.0
        started = time.perf_counter()
        index.add(documents, progress=False)
        index.retrieve(queries[number % len(queries)], BM25(), k=CANDIDATES)
        total = time.perf_counter() - started
        spent.append((total - clock.seconds, clock.seconds))
    own = [each for each, _ in spent]
    print(
        f"  adding 100 leaves and asking: {statistics.median(own) * 1000:.1f} ms of our own, at most "
        f"{max(own) * 1000:.1f} ms; {statistics.median(each for _, each in spent) * 1000:.1f} ms of Chroma"
    )
    yield Figure("Chroma's part of adding 100 leaves and asking, ms", statistics.median(each for _, each in spent) * 1000)
    yield Figure("seconds to add 100 leaves and ask, less Chroma's", statistics.median(own), "<=", 0.05)


def measure(folder: Path, index: Index, count: int) -> Iterator[Figure]:
    leaves = index.leaves()
    texts = [leaf.text for leaf in leaves]
    queries = make_queries(texts, count)
    started = time.perf_counter()
    index.retrieve(queries[0], BM25())
    spent = time.perf_counter() - started
    print(f"  the words of {len(texts):,} leaves were indexed in {spent:.1f} s")
    yield Figure("leaves", len(texts))
    yield Figure("seconds to index the words of all leaves", spent)
    yield from in_fresh_processes(folder, texts)
    yield from hybrid_beside_its_parts(index, [leaf.id for leaf in leaves], queries)
    yield from queries_beside_peers(index, texts, queries)
    yield from adding_a_hundred(index, queries)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="number of leaves at which no more documents are added")
    parser.add_argument("--queries", type=int, default=200, help="number of questions")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of text or Markdown files")
    add_json_option(parser)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        with build(folder, arguments.leaves, arguments.data) as index:
            print(f"\n{index.stats().leaves:,} leaves, the best {CANDIDATES}")
            figures = print_figures(measure(folder, index, arguments.queries))
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)
    write_results("lexical", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
