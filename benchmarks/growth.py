"""How time, memory and disk grow with an index: questions, opening, the first answer, adding and checking.

    python benchmarks/growth.py [--sizes 10000 100000 1000000] [--queries 100] [--rounds 7] [--dimensions 256]
                                [--folder FOLDER] [--json FILE]

The indexes are warmed and get the same questions in turns, and so do plain Chroma collections with the same leaves. Some
questions have a filter that a hundredth of the documents match. Opening is ``Index.open`` in a new process, after all
imports; the first answer includes opening. Each index gets 320 more documents, which are deleted again, ``sync`` of all its
documents, and ``check``. Memory is a reader's own memory (Linux: ``RssAnon``) after ten questions, without mapped files. A
figure is the ratio of the times, or bytes, of one size and the size before. The exponent is fitted to the medians of all
sizes, by least squares of their logarithms: 1 is growth in proportion, 0 no growth. Plain collections end at 100,000
leaves. With a folder, what is stored there is used again, and an interrupted run goes on. ``--dimensions`` maps the
embedder's vectors to another length.

Ends with 1 if a bound is missed. The bounds are for growing tenfold from 100,000 leaves.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from corpus import (
    DOCUMENTS_AT_ONCE,
    LEAVES_OF_A_DOCUMENT,
    WORDLLAMA,
    Corpus,
    add_to_plain,
    mapped,
    plain_client,
    plain_collection,
    questions,
)
from measures.storing import size_of
from peers.engines import plain_chroma
from peers.programs import LEAFSPAN, PLAIN_CHROMA, Program, memory_of, seconds_to_answer
from results import Figure, add_json_option, all_passed, print_figures, write_results
from shuffled import shuffled_questions
from side_by_side import Ratio, Times, ratio, seconds, take_turns

import langchain_ext
from leafspan import Embedder, F, Index

SIZES = (10_000, 100_000, 1_000_000)
MANY = 100_000  # leaves; from this size on, bounds apply to growing tenfold
MOST_PLAIN = 100_000  # leaves of a plain collection, so that the largest size does not take twice as long
UPKEEP = ("disk", "a reader's memory", "add of 320 documents", "sync", "check")
BOUNDS = {"Vector": 4.0, "Hybrid": 4.0, "opening": 3.0}


def corpus_of(leaves: int, dimensions: int | None, *, seed: int = 7) -> Corpus:
    """A corpus of about this many leaves, with vectors of this length. Each document has its number as metadata."""
    return replace(Corpus.made(leaves, {"book": 0}, seed=seed), model=model_of(dimensions))


def model_of(dimensions: int | None) -> Embedder:
    """WordLlama, with its vectors mapped to this length."""
    return WORDLLAMA if dimensions is None else mapped(WORDLLAMA, dimensions)


def store(folder: Path, leaves: int, dimensions: int | None = None) -> None:
    """Make an index of this many leaves, and a plain collection unless they are too many. Stored ones are kept."""
    if (folder / "done").exists():
        return
    corpus = corpus_of(leaves, dimensions)
    with Index.open(folder / "ours", embedder=corpus.embedder()) as index:
        stored = index.stats().leaves
        for number, (documents, rows) in enumerate(corpus.groups()):
            if rows.stop > stored:  # an earlier run has not come so far
                index.add(documents, progress=False)
                if number % 10 == 9:
                    print(f"    {rows.stop:,} of {len(corpus.ids):,} leaves are stored", flush=True)
    shutil.rmtree(folder / "plain", ignore_errors=True)
    if leaves <= MOST_PLAIN:
        plain = plain_collection(plain_client(folder / "plain"))
        for _, rows in corpus.groups():
            add_to_plain(plain, corpus, rows)
    (folder / "done").touch()


def asking(folders: dict[int, Path], count: int, dimensions: int | None = None) -> Times:
    """The times of all questions, by system and size."""
    work: dict[str, Any] = {}
    opened = []
    for size, folder in folders.items():
        index = Index.open(folder / "ours", embedder=model_of(dimensions))
        index.warm()  # the figures are about later questions
        opened.append(index)
        work[f"Vector {size}"] = langchain_ext.VectorRetriever(index=index, k=5).invoke
        work[f"Hybrid {size}"] = langchain_ext.HybridRetriever(index=index, k=5).invoke
        few = F("book") < max(1, size // LEAVES_OF_A_DOCUMENT // 100)
        work[f"Hybrid, filter of 1 % {size}"] = langchain_ext.HybridRetriever(index=index, k=5, where=few).invoke
        work[f"BM25 {size}"] = langchain_ext.BM25Retriever(index=index, k=5).invoke
        if size <= MOST_PLAIN:
            collection = plain_client(folder / "plain").get_collection("plain", embedding_function=None)
            work[f"plain Chroma {size}"] = plain_chroma(collection, model=model_of(dimensions)).ask
    times = take_turns(work, questions(count))
    for index in opened:
        index.close()
    return times


def program(name: str, dimensions: int | None) -> Program:
    """The program of a new process that asks an index by this strategy."""
    if dimensions is None:
        return LEAFSPAN[name]
    imports = f"sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom corpus import WORDLLAMA, mapped"
    opening = LEAFSPAN[name].opening.replace("sys.argv[1]", f"sys.argv[1], embedder=mapped(WORDLLAMA, {dimensions})")
    return Program(f"{imports}\n{LEAFSPAN[name].imports}", opening)


def opening(folders: dict[int, Path], rounds: int, dimensions: int | None = None) -> Times:
    """The times of opening, and the times up to the first answer, each in a new process."""
    opened: dict[str, list[float]] = defaultdict(list)
    answered: dict[str, list[float]] = defaultdict(list)
    for question in shuffled_questions(rounds + 1, random.Random(11)):
        for size, folder in folders.items():
            for name in ("Vector", "Hybrid"):
                found = seconds_to_answer(program(name, dimensions), folder / "ours", question)
                answered[f"first answer, {name} {size}"].append(found.answered)
            opened[f"opening {size}"].append(found.opened)
            if size <= MOST_PLAIN and dimensions is None:
                found = seconds_to_answer(PLAIN_CHROMA, folder / "plain", question)
                opened[f"opening, plain Chroma {size}"].append(found.opened)
                answered[f"first answer, plain Chroma {size}"].append(found.answered)
    return Times({**opened, **answered}).after(1)  # the first turn reads from the disk


def upkeep(folders: dict[int, Path], rounds: int, dimensions: int | None) -> Times:
    """The times of adding, syncing and checking; and memory and disk, in bytes."""
    found: dict[str, list[float]] = defaultdict(list)
    more = corpus_of(LEAVES_OF_A_DOCUMENT * DOCUMENTS_AT_ONCE, dimensions, seed=8)
    fresh = [replace(each, id=f"new-{each.id}") for each in more.documents]
    for size, folder in folders.items():
        found[f"disk {size}"] = [float(size_of(folder / "ours"))]
        if sys.platform == "linux":
            own = memory_of(program("Hybrid", dimensions), folder / "ours", questions(10))["own"]
            found[f"a reader's memory {size}"] = [1024.0 * own]
        documents = corpus_of(size, dimensions).documents
        with Index.open(folder / "ours", embedder=more.embedder()) as index:
            for _ in range(min(rounds, 3)):
                found[f"add of 320 documents {size}"].append(seconds(partial(index.add, fresh, progress=False)))
                index.delete([each.id for each in fresh])
            sync = partial(index.sync, documents, within="everything", progress=False)
            found[f"sync {size}"].append(seconds(sync))
            found[f"check {size}"].append(seconds(partial(index.check, progress=False)))
    return Times(found)


def exponent(sizes: Sequence[int], medians: Sequence[float]) -> float:
    """The slope of a line through the logarithms of sizes and times."""
    slope, _ = np.polyfit(np.log(sizes), np.log(medians), 1)
    return float(slope)


def growth(folders: dict[int, Path], times: Times) -> Iterator[Figure]:
    """For each measurement: the exponent, growth from size to size, and all medians beside the smallest."""
    names = list(dict.fromkeys(name.rpartition(" ")[0] for name in times.seconds))
    for name in names:
        sizes = [size for size in folders if f"{name} {size}" in times.seconds]
        medians = [times.median(f"{name} {size}") for size in sizes]
        if len(sizes) > 1:
            yield Figure(f"{name}: exponent", exponent(sizes, medians), part="growth")
        for small, large in pairwise(sizes):
            found: Ratio = ratio(times.seconds[f"{name} {large}"], times.seconds[f"{name} {small}"])
            bound = BOUNDS.get(name) if small == MANY and large == 10 * MANY else None
            sign: Any = None if bound is None else "<="
            what = f"{name}: {large:,} beside {small:,} leaves"
            yield Figure(what, found.middle, sign, bound, "growth", (found.low, found.high))
        for size in sizes:
            kind = next((f"{each}, " for each in ("opening", "first answer") if name.startswith(each)), "")
            if f"{kind}plain Chroma {sizes[0]}" not in times.seconds or name in UPKEEP:
                continue
            found = ratio(times.seconds[f"{name} {size}"], times.seconds[f"{kind}plain Chroma {sizes[0]}"])
            what = f"{name}: {size:,} leaves, beside plain Chroma's smallest"
            yield Figure(what, found.middle, part="growth", middle_half=(found.low, found.high))


def measure(folder: Path, sizes: Sequence[int], count: int, rounds: int, dimensions: int | None = None) -> list[Figure]:
    """Store what is missing in a folder, and measure."""
    folders = {size: folder / str(size) for size in sizes}
    for size, place in folders.items():
        store(place, size, dimensions)
    asked = asking(folders, count, dimensions)
    opened = opening(folders, rounds, dimensions)
    times = Times({**asked.seconds, **opened.seconds, **upkeep(folders, rounds, dimensions).seconds})
    figures = print_figures(growth(folders, times))
    for figure in figures:
        if figure.name.endswith("exponent"):
            print(f"  {figure.value:5.2f}  {figure.name}")
        elif figure.bound is None:
            print(f"  {figure.value:7.2f}  {figure.name}")
    for name, each in times.seconds.items():
        in_bytes = name.startswith(("disk", "a reader's memory"))
        value = statistics.median(each)
        print(f"    {name} leaves: " + (f"{value / 1e6:,.0f} MB" if in_bytes else f"{1000 * value:,.2f} ms"))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of leaves, in ascending order")
    parser.add_argument("--queries", type=int, default=100, help="number of questions")
    parser.add_argument("--rounds", type=int, default=7, help="number of new processes of each kind")
    parser.add_argument("--dimensions", type=int, help="length of the vectors; 256, the embedder's own, by default")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where to keep what is stored")
    add_json_option(parser)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    try:
        figures = measure(folder, arguments.sizes, arguments.queries, arguments.rounds, arguments.dimensions)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    write_results("growth", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
