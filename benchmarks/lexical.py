"""BM25 beside the libraries bm25s and rank-bm25, and what keeping it current costs: ``python benchmarks/lexical.py``.

    python benchmarks/lexical.py [--leaves 100000] [--queries 200] [--data FOLDER]

Everything is compared within one run, by ratios of medians or by differences. The corpus is made of the words of the
example articles, in sentences of shuffled words with made-up names among them, whose frequencies fall as in real text
(Zipf); or of the text files in FOLDER. Both sides get the same terms. Chroma's own part of a step is the time within the
methods of its embedded client, which are timed where they are called. Ends with 1 where a bound is missed.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafspan import BM25, Analyzer, BM25Settings, Document, HierarchicalSplitter, Hybrid, Index
from leafspan.documents import read_documents
from leafspan.embedding._embedders import PROBE
from leafspan.engine import run
from leafspan.examples import example_documents
from leafspan.lexical import to_terms
from leafspan.retrieval._answering import _Retrieval
from leafspan.strategies import Embed, LexicalSearch, Load, Request, VectorSearch
from leafspan.tree import SummaryReader

CANDIDATES = 24
SETTINGS = BM25Settings(k1=1.5, b=0.75)
SENTENCES = 20  # a document
DIMENSIONS = 256
SPLITTER = HierarchicalSplitter(leaf_words=30, parent_words=(150,))
Row = tuple[str, float, str, float]  # what, ratio or seconds, "<=" or ">=", bound


def embed(texts: list[str]) -> NDArray[np.float32]:
    """Vectors at random: only the time that they take matters here."""
    generator = np.random.default_rng(1 if texts == [PROBE] else None)
    return generator.standard_normal((len(texts), DIMENSIONS)).astype(np.float32)


def words_of(text: str) -> list[str]:
    return [word for word in text.split() if word.isalpha()]


def make_sentences() -> Iterator[str]:
    """Sentences without end: words of the articles at their own frequencies, and in every fourth place a name."""
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
    """Those of the folder, or ones without end."""
    if data is not None:
        yield from read_documents(data)
        return
    sentences = make_sentences()
    for number in itertools.count():
        yield Document(f"d{number}", " ".join(itertools.islice(sentences, SENTENCES)), metadata={"number": number})


def open_at(folder: Path) -> Index:
    return Index.open(folder / "kb", embedder=embed, splitter=SPLITTER)


def build(folder: Path, leaves: int, data: Path | None) -> Index:
    """The index, of so many leaves at most; the mirror of its words is made at the first query."""
    index = open_at(folder)
    there = 0
    documents = make_documents(data)
    while there < leaves and (chunk := list(itertools.islice(documents, 500))):
        index.add(chunk, progress=False)
        there = index.stats().leaves
    return index


def median(work: Callable[[int], Any], count: int) -> float:
    """Seconds, after two that do not count."""
    times = []
    for number in range(-2, count):
        started = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - started)
    return statistics.median(times[2:])


def medians(work: Sequence[Callable[[int], Any]], count: int) -> list[float]:
    """The same for several, which take turns."""
    times: list[list[float]] = [[] for _ in work]
    for number in range(-2, count):
        for place, each in enumerate(work):
            started = time.perf_counter()
            each(number)
            times[place].append(time.perf_counter() - started)
    return [statistics.median(each[2:]) for each in times]


def make_queries(texts: Sequence[str], count: int) -> list[str]:
    """Three to eight words of one leaf, as questions about it have."""
    generator = random.Random(11)
    queries = []
    while len(queries) < count:
        words = words_of(generator.choice(texts))
        if len(words) > 3:
            queries.append(" ".join(generator.choices(words, k=generator.randint(3, 8))))
    return queries


def queries_beside_peers(index: Index, texts: Sequence[str], queries: Sequence[str]) -> Iterator[Row]:
    import bm25s
    from rank_bm25 import BM25Okapi

    analyzer = Analyzer()
    terms = to_terms(analyzer, texts)
    asked = to_terms(analyzer, queries)
    theirs = bm25s.BM25(k1=SETTINGS.k1, b=SETTINGS.b, method="lucene")
    theirs.index(terms, show_progress=False)
    store, words = index._store, index._sources.words

    def ours(i: int) -> Any:
        reader = run(store.reader(set()))
        try:
            return run(words.match(reader, LexicalSearch((queries[i],), CANDIDATES, None, SETTINGS)))
        finally:
            reader.leave()

    def peer(i: int) -> Any:
        return theirs.retrieve([asked[i]], k=CANDIDATES, show_progress=False)

    for i in range(5):
        expected = peer(i)[1][0]
        found = [hit.score for hit in ours(i)[0].hits]
        if not np.allclose(found, expected[: len(found)], rtol=1e-3):
            raise AssertionError(f"scores differ: {found} and {expected.tolist()}")
    mine, bm25s_, whole = medians([ours, peer, lambda i: index.retrieve(queries[i], BM25(), k=CANDIDATES)], len(queries))
    print(f"  a query {mine * 1000:.2f} ms, bm25s {bm25s_ * 1000:.2f} ms, with texts from Chroma {whole * 1000:.2f} ms")
    yield "a query, terms to hits, beside bm25s", mine / bm25s_, "<=", 2.0
    okapi = BM25Okapi(terms)
    # Each by itself: bm25s beside it would empty the processor's caches for one of the two only.
    alone = median(ours, len(queries))
    slow = median(lambda i: okapi.get_top_n(asked[i], range(len(terms)), CANDIDATES), 5)
    yield "a query, times faster than rank-bm25", slow / alone, ">=", 50.0


def hybrid_beside_its_legs(index: Index, queries: Sequence[str]) -> Iterator[Row]:
    """Each leg begins with the question's text, as Hybrid does; the leaves fetched are others of the index each time."""
    depth = Hybrid().depth
    assert isinstance(depth, tuple)
    reader = run(index._store.reader(set()))
    retrieval = _Retrieval(index._sources, reader, SummaryReader(index._sources.trees, reader, set()))
    generator = random.Random(3)
    ids = run(reader.leaf_ids())

    def answer(request: Request) -> Any:
        return run(retrieval._answer(request))

    work = [
        lambda i: answer(LexicalSearch((queries[i],), depth[0], None)),
        lambda i: answer(VectorSearch(answer(Embed((queries[i],))), depth[1], None)),
        lambda i: answer(Load(tuple(generator.sample(ids, CANDIDATES)))),
        lambda i: index.retrieve(queries[i], Hybrid(), k=CANDIDATES, candidates=CANDIDATES),
    ]
    by_words, by_vectors, fetch, hybrid = medians(work, len(queries))
    reader.leave()
    print(
        f"  Hybrid {hybrid * 1000:.2f} ms; words {by_words * 1000:.2f} ms, vectors {by_vectors * 1000:.2f} ms, "
        f"fetch {fetch * 1000:.2f} ms"
    )
    yield "Hybrid, beside its slower leg and a fetch", hybrid / (max(by_words, by_vectors) + fetch), "<=", 1.3


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
    """By how many MB the memory of this process rises at most while it works (Linux)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
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


def in_fresh_processes(folder: Path, texts: Sequence[str]) -> Iterator[Row]:
    yield (
        "seconds to open a mirror and ask first, over Chroma's",
        statistics.median(child(OPENING, folder) for _ in range(3)),
        "<=",
        0.2,
    )
    if not Path("/proc/self/clear_refs").exists():
        return
    (folder / "texts.json").write_text(json.dumps(list(texts)))
    theirs = child(BUILDING_BM25S, folder)
    for words in (folder / "kb" / "leafspan.mirror").glob("*/words-*"):
        shutil.rmtree(words)
    ours = child(BUILDING, folder)
    print(f"  memory while building {ours:.0f} MB, bm25s {theirs:.0f} MB")
    yield "memory while building, beside bm25s", ours / theirs, "<=", 1.0


class Clock:
    """The seconds within the methods of Chroma's embedded client; of those that call each other the outermost counts."""

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


def adding_a_hundred(index: Index, queries: Sequence[str], *, rounds: int = 30) -> Iterator[Row]:
    """Five documents of twenty leaves, then a question, again and again: less Chroma's own part of both."""
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
    yield "seconds to add 100 leaves and ask, less Chroma's", statistics.median(own), "<=", 0.05


def measure(folder: Path, index: Index, count: int) -> Iterator[Row]:
    texts = [leaf.text for leaf in index.leaves()]
    queries = make_queries(texts, count)
    started = time.perf_counter()
    index.retrieve(queries[0], BM25())
    print(f"  the words of {len(texts):,} leaves were indexed in {time.perf_counter() - started:.1f} s")
    yield from in_fresh_processes(folder, texts)
    yield from hybrid_beside_its_legs(index, queries)
    yield from queries_beside_peers(index, texts, queries)
    yield from adding_a_hundred(index, queries)


def report(rows: Iterable[Row]) -> bool:
    """Print each row; whether all bounds hold."""
    holds = True
    for what, value, sign, bound in rows:
        good = value <= bound if sign == "<=" else value >= bound
        holds &= good
        print(f"  {'PASS' if good else 'FAIL'}  {value:7.2f} {sign} {bound:<5g} {what}", flush=True)
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="how many leaves at most")
    parser.add_argument("--queries", type=int, default=200, help="how many questions are asked")
    parser.add_argument("--data", type=Path, help="a folder of text or Markdown files")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        with build(folder, options.leaves, options.data) as index:
            print(f"\n{index.stats().leaves:,} leaves, the best {CANDIDATES}")
            return int(not report(measure(folder, index, options.queries)))
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
