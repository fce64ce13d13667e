"""How time grows with an index: questions, opening, and the first answer, for indexes of several sizes.

    python benchmarks/growth.py [--sizes 10000 100000 1000000] [--queries 100] [--rounds 7] [--folder FOLDER] [--json FILE]

The indexes are warmed and get the same questions in turns, and so do plain Chroma collections with the same leaves. Opening
is ``Index.open`` in a new process, after all imports; the first answer includes opening. A figure is the ratio of the times
of one size and the size before. The exponent is fitted to the medians of all sizes, by least squares of their logarithms:
1 is growth in proportion, 0 no growth. Plain collections end at 100,000 leaves. With a folder, what is stored there is used
again.

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
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from corpus import WORDLLAMA, Corpus, add_to_plain, mapped, plain_client, plain_collection, questions
from peers.engines import plain_chroma
from peers.programs import LEAFSPAN, PLAIN_CHROMA, seconds_to_answer
from results import Figure, add_json_option, all_passed, print_figures, write_results
from shuffled import shuffled_questions
from side_by_side import Ratio, Times, ratio, take_turns

import langchain_ext
from leafspan import Index

SIZES = (10_000, 100_000, 1_000_000)
MANY = 100_000  # leaves; from this size on, bounds apply to growing tenfold
MOST_PLAIN = 100_000  # leaves of a plain collection, so that the largest size does not take twice as long
BOUNDS = {"Vector": 4.0, "Hybrid": 4.0, "opening": 3.0}


def store(folder: Path, leaves: int, dimensions: int | None = None) -> None:
    """Make an index of this many leaves, and a plain collection unless they are too many. Stored ones are kept."""
    if (folder / "done").exists():
        return
    corpus = Corpus.made(leaves, {"book": 0})
    if dimensions is not None:
        corpus = replace(corpus, model=mapped(WORDLLAMA, dimensions))
    with Index.open(folder / "ours", embedder=corpus.embedder()) as index:
        stored = index.count()
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


def asking(folders: dict[int, Path], count: int) -> Times:
    """The times of all questions, by system and size."""
    work: dict[str, Any] = {}
    opened = []
    for size, folder in folders.items():
        index = Index.open(folder / "ours")
        index.warm()  # the figures are about later questions
        opened.append(index)
        work[f"Vector {size}"] = langchain_ext.VectorRetriever(index=index, k=5).invoke
        work[f"Hybrid {size}"] = langchain_ext.HybridRetriever(index=index, k=5).invoke
        work[f"BM25 {size}"] = langchain_ext.BM25Retriever(index=index, k=5).invoke
        if size <= MOST_PLAIN:
            collection = plain_client(folder / "plain").get_collection("plain", embedding_function=None)
            work[f"plain Chroma {size}"] = plain_chroma(collection).ask
    times = take_turns(work, questions(count))
    for index in opened:
        index.close()
    return times


def opening(folders: dict[int, Path], rounds: int) -> Times:
    """The times of opening, and the times up to the first answer, each in a new process."""
    opened: dict[str, list[float]] = defaultdict(list)
    answered: dict[str, list[float]] = defaultdict(list)
    for question in shuffled_questions(rounds + 1, random.Random(11)):
        for size, folder in folders.items():
            for name in ("Vector", "Hybrid"):
                found = seconds_to_answer(LEAFSPAN[name], folder / "ours", question)
                answered[f"first answer, {name} {size}"].append(found.answered)
            opened[f"opening {size}"].append(found.opened)
            if size <= MOST_PLAIN:
                found = seconds_to_answer(PLAIN_CHROMA, folder / "plain", question)
                opened[f"opening, plain Chroma {size}"].append(found.opened)
                answered[f"first answer, plain Chroma {size}"].append(found.answered)
    return Times({**opened, **answered}).after(1)  # the first turn reads from the disk


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
            found = ratio(times.seconds[f"{name} {size}"], times.seconds[f"{kind}plain Chroma {sizes[0]}"])
            what = f"{name}: {size:,} leaves, beside plain Chroma's smallest"
            yield Figure(what, found.middle, part="growth", middle_half=(found.low, found.high))


def measure(folder: Path, sizes: Sequence[int], count: int, rounds: int) -> list[Figure]:
    """Store what is missing in a folder, and measure."""
    folders = {size: folder / str(size) for size in sizes}
    for size, place in folders.items():
        store(place, size)
    asked = asking(folders, count)
    opened = opening(folders, rounds)
    times = Times({**asked.seconds, **opened.seconds})
    figures = print_figures(growth(folders, times))
    for figure in figures:
        if figure.name.endswith("exponent"):
            print(f"  {figure.value:5.2f}  {figure.name}")
        elif figure.bound is None:
            print(f"  {figure.value:7.2f}  {figure.name}")
    for name, each in times.seconds.items():
        print(f"    {name} leaves: {1000 * statistics.median(each):.2f} ms")
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of leaves, in ascending order")
    parser.add_argument("--queries", type=int, default=100, help="number of questions")
    parser.add_argument("--rounds", type=int, default=7, help="number of new processes of each kind")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where to keep what is stored")
    add_json_option(parser)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    try:
        figures = measure(folder, arguments.sizes, arguments.queries, arguments.rounds)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    write_results("growth", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
