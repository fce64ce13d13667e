"""How fast leafspan adds documents beside plain Chroma, the disk space they take, and how long an event loop is blocked.

    python benchmarks/adding.py [--leaves 40000] [--rounds 4] [--large 60000] [--json FILE]

The same leaves are added in turns, a quarter of them per turn: to a plain collection (texts, vectors, and the document's
id as metadata, a thousand at a time), to an index that keeps texts in Chroma's documents, to an index that keeps texts in
metadata, and to two more of these indexes, asynchronously, beside a heartbeat. All sides have ready-made vectors, so no
side embeds. leafspan's side includes splitting, checksums, the manifest, and the files for reading without Chroma. A figure
is the median of the ratios of the turns, for elapsed time and for processor time (the machine may do other work; a process
that writes is included). Finally, leaves are added to a large index beside a heartbeat. The corpus consists of shuffled
sentences of the example articles, so that nothing is downloaded.

A full garbage collection stops all threads, longer if a program has more objects. So the benchmark excludes its own
earlier objects from collections before a heartbeat starts. Objects that leafspan makes afterwards are included.

An embedder behind a network is simulated by sleeping. An ``add`` can write two of three groups while the embedder works,
so that at best a third of the time of an ``add`` without embedding remains.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import chromadb
import numpy as np
from results import Figure, add_json_option, all_passed, write_results
from shuffled import shuffled_texts

from leafspan import Document, Embedder, HierarchicalSplitter, Index
from leafspan.embedding import default_embedder

BEAT = 0.01  # seconds
AT_ONCE = 1_000  # the plain collection gets this number of leaves in one call
DELAY = 0.15  # seconds that an embedder behind a network takes for 128 texts


class AtHand:
    """An embedder with ready-made vectors.

    Args:
        texts: The texts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        model = default_embedder()
        distinct = list(dict.fromkeys(texts))
        self._vectors: dict[str, Any] = {}
        for start in range(0, len(distinct), 1024):
            some = distinct[start : start + 1024]
            self._vectors |= dict(zip(some, np.asarray(model.documents(some), dtype=np.float32), strict=True))
        self._other = np.asarray(model.documents(["another text"]), dtype=np.float32)[0]

    def __call__(self, texts: list[str]) -> Any:
        """Return the vectors."""
        return np.array([self._vectors.get(text, self._other) for text in texts])

    def behind_a_network(self, texts: list[str]) -> Any:
        """Return the vectors, after a while."""
        time.sleep(DELAY)
        return self(texts)


def plain_side(folder: Path) -> Callable[[list[tuple[str, list[str]]], AtHand], None]:
    """Make a function that adds the leaves of documents to a plain collection."""
    client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
    plain = client.create_collection("plain", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})

    def add(documents: list[tuple[str, list[str]]], vectors: AtHand) -> None:
        rows = [(f"{id_}#{place}", text, id_) for id_, texts in documents for place, text in enumerate(texts)]
        for start in range(0, len(rows), AT_ONCE):
            ids, texts, sources = zip(*rows[start : start + AT_ONCE], strict=True)
            plain.add(
                ids=list(ids),
                documents=list(texts),
                embeddings=vectors(list(texts)),
                metadatas=[{"source": source} for source in sources],
            )

    return add


class Time(NamedTuple):
    """The time that something takes, in seconds.

    Attributes:
        clock: Elapsed time.
        processor: Processor time of all threads, including a process that writes for this one.
    """

    clock: float
    processor: float


def time_of(what: Callable[[], object]) -> Time:
    """Measure how long something takes."""
    clock, processor = time.perf_counter(), processor_time()
    what()
    return Time(time.perf_counter() - clock, processor_time() - processor)


def processor_time() -> float:
    """The processor time so far, of this process and of all processes that it has started."""
    ended = os.times()
    running = 0
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            running += sum(map(int, Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]))
    return time.process_time() + ended.children_user + ended.children_system + running / os.sysconf("SC_CLK_TCK")


def beside_a_heartbeat(index: Index, documents: list[Document]) -> tuple[Time, Time]:
    """The time of an ``aadd``, and the longest gap between two beats."""
    gaps = [(0.0, 0.0)]

    async def beat() -> None:
        while True:
            clock, processor = time.perf_counter(), time.process_time()
            await asyncio.sleep(BEAT)
            gaps.append((time.perf_counter() - clock, time.process_time() - processor))

    async def add() -> None:
        heart = asyncio.create_task(beat())
        await asyncio.sleep(0)
        await index.aadd(documents, progress=False)
        await asyncio.sleep(0)
        heart.cancel()

    gc.collect()
    gc.freeze()
    try:
        taken = time_of(lambda: asyncio.run(add()))
    finally:
        gc.unfreeze()
    return taken, Time(*map(max, zip(*gaps, strict=True)))


def in_a_large_index(folder: Path, leaves: int) -> list[Figure]:
    """The longest gap while 5,000 leaves are added to a large index."""
    documents = [Document(f"d{number}", text) for number, text in enumerate(shuffled_texts(leaves // 30, random.Random(5)))]
    more = [Document(f"more-{number}", text) for number, text in enumerate(shuffled_texts(500, random.Random(6)))]
    with Index.open(folder / "large") as index:
        index.add(documents, progress=False)
        _, *gaps = zip(*(beside_a_heartbeat(index, more[start : start + 166]) for start in (0, 166, 332)), strict=True)
        longest = statistics.median(gap.clock for gap in gaps[0])
    return [Figure("ms of the longest gap of the event loop in a large index, median of three", 1e3 * longest, "<=", 100.0)]


def size(folder: Path) -> int:
    """Bytes that a folder takes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def turns(folder: Path, leaves: int, rounds: int) -> list[Figure]:
    """Add to all sides in turns."""
    splitter = HierarchicalSplitter()
    texts = shuffled_texts(leaves // 30, random.Random(7))
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    with Index.open(folder / "cut", splitter=splitter) as cut:
        cut.add(documents, progress=False)
        pieces = [(each.id, [leaf.text for leaf in cut.leaves(each.id)]) for each in documents]
    shutil.rmtree(folder / "cut")
    vectors = AtHand([text for _, some in pieces for text in some])
    embedder = Embedder("at hand", vectors, vectors, local=True)
    plain = plain_side(folder / "plain")
    blocking = Index.open(folder / "blocking", embedder=embedder)
    awaited = Index.open(folder / "awaited", embedder=embedder)
    for index in (blocking, awaited):
        index.add(Document("first", "Something."), progress=False)  # opens Chroma
    adding: list[Time] = []
    awaiting: list[Time] = []
    gaps: list[Time] = []
    step = -(-len(documents) // rounds)
    for start in range(0, len(documents), step):
        some, leaves_of = documents[start : start + step], pieces[start : start + step]
        usual = time_of(lambda leaves_of=leaves_of: plain(leaves_of, vectors))  # type: ignore[misc]
        own = time_of(lambda some=some: blocking.add(some, progress=False))  # type: ignore[misc]
        other, gap = beside_a_heartbeat(awaited, some)
        adding.append(Time(*(a / b for a, b in zip(usual, own, strict=True))))
        awaiting.append(Time(*(a / b for a, b in zip(own, other, strict=True))))
        gaps.append(gap)
    for index in (blocking, awaited):
        index.close()
    add, aadd, gap = middle(adding), middle(awaiting), middle(gaps)
    return [
        Figure("throughput of add as a share of plain Chroma's", add.clock, ">=", 0.8),
        Figure("the same by the processor's time", add.processor),
        Figure("disk, as a multiple of plain Chroma's", size(folder / "blocking") / size(folder / "plain"), "<=", 2.2),
        Figure("throughput of aadd as a share of add's", aadd.clock, ">=", 0.7),
        Figure("the same by the processor's time", aadd.processor),
        Figure("ms of the longest gap of the event loop, median of the turns", 1e3 * gap.clock, "<=", 100.0),
        Figure("ms of the processor's in the longest gap, median of the turns", 1e3 * gap.processor),
        Figure("ms of the longest gap of all", 1e3 * max(each.clock for each in gaps)),
    ]


def middle(times: Sequence[Time]) -> Time:
    """The medians."""
    return Time(*map(statistics.median, zip(*times, strict=True)))


def overlap(folder: Path, leaves: int) -> list[Figure]:
    """The share of its own time that an ``add`` of three groups needs on top of an embedder's time behind a network."""
    texts = shuffled_texts(leaves // 30, random.Random(3))
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    vectors = AtHand([])
    spent: list[float] = []

    def slow(some: list[str]) -> Any:
        started = time.perf_counter()
        result = vectors.behind_a_network(some)
        spent.append(time.perf_counter() - started)
        return result

    shares = []
    for number in range(3):
        with (
            Index.open(folder / f"at-hand-{number}", embedder=Embedder("a", vectors, vectors, local=True)) as at_hand,
            Index.open(folder / f"network-{number}", embedder=Embedder("a", slow, slow), embedding_cache=False) as network,
        ):
            for index in (at_hand, network):
                index.add(Document("first", "Something."), progress=False)
            alone = time_of(partial(at_hand.add, documents, progress=False)).clock
            spent.clear()
            both = time_of(partial(network.add, documents, progress=False)).clock
            shares.append((both - sum(spent)) / alone)
    name = "embedder behind a network: share of add's own time that comes on top of the embedder's"
    return [Figure(name, statistics.median(shares), "<=", 0.7)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=40_000, help="number of leaves; default: 40000")
    parser.add_argument("--rounds", type=int, default=4, help="turns of each side; default: 4")
    parser.add_argument("--large", type=int, default=60_000, help="leaves of a large index, 0 for none; default: 60000")
    add_json_option(parser)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        figures = [*turns(folder, arguments.leaves, arguments.rounds), *overlap(folder, 15_000)]
        if arguments.large:
            figures += in_a_large_index(folder, arguments.large)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for figure in figures:
        verdict = "" if figure.passed is None else "PASS" if figure.passed else "FAIL"
        bound = "" if figure.bound is None else f"{figure.sign} {figure.bound:g}"
        print(f"  {verdict:4}  {figure.value:7.2f} {bound:8} {figure.part:10} {figure.name}")
    write_results("adding", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
