"""Measures all figures of docs/benchmarks.md: leafspan beside its peers, all over the same leaves.

    python benchmarks/bench.py [--quick | --full] [--leaves 30000] [--sizes 10000 30000 100000] [--json FILE] [--page]

The peers are set up as their users set them up (``benchmarks/peers``), and take turns within this run. Each figure is a
ratio to plain Chroma in the same turn, or from size to size: the median, and the middle half. The output names peers that
are not installed (``pip install ".[bench]"``). ``--quick`` takes a minute or two with a few thousand leaves. Its figures
mean little; it shows that everything runs. ``--full`` uses 100,000 leaves, and growth up to 1,000,000.

Ends with 0 unless something is broken, since figures have no bounds. ``--page`` writes docs/benchmarks.md and its pictures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import growth
from corpus import Corpus, questions
from measures.asking import Limits, alone, batches, callers, filtered
from measures.processes import cold, memory
from measures.storing import adding, disk
from page import RESULTS, write_page
from peers.stores import Systems
from results import Figure, add_json_option, write_results

USER_KEYS = {"book": 1, "language": "en", "rating": 4.5, "checked": True}


def noted(title: str, figures: Iterable[Figure]) -> list[Figure]:
    """Print the figures as they are measured."""
    print(f"\n{title}", flush=True)
    started = time.perf_counter()
    kept = []
    for figure in figures:
        half = figure.middle_half
        between = f"  ({half[0]:.2f} to {half[1]:.2f})" if half else ""
        print(f"  {figure.value:8.2f}{between:>22}  {figure.part}: {figure.name}", flush=True)
        kept.append(figure)
    print(f"  took {time.perf_counter() - started:.0f} s", flush=True)
    return kept


@dataclass(frozen=True)
class Effort:
    """The extent of the measurements.

    Attributes:
        questions: Number of questions.
        processes: Number of new processes of each kind.
        seconds: Seconds after which a slow system no longer takes part.
        warm: Whether some questions are asked before the measured ones.
    """

    questions: int
    processes: int
    seconds: float
    warm: bool


QUICK = Effort(32, 1, 0.5, warm=False)
USUAL = Effort(320, 9, 6.0, warm=True)


def beside_peers(folder: Path, leaves: int, effort: Effort) -> tuple[list[Figure], dict[str, Any]]:
    """All figures at this number of leaves, and the compared systems."""
    corpus = Corpus.made(leaves, USER_KEYS)
    asked = questions(effort.questions)
    limits = Limits(effort.seconds, effort.warm)
    systems = Systems(folder, corpus)
    stores = list(systems.stores())
    print(f"{len(corpus.ids):,} leaves in {len(corpus.documents):,} documents")
    figures = noted("adding: throughput beside plain Chroma's", adding(stores, corpus))
    figures += noted("disk, beside plain Chroma's", disk(stores))
    programs = {name: (each, store.folder) for store in stores for name, each in store.programs.items()}
    figures += noted("first answer of a new process, beside plain Chroma's", cold(programs, asked[: effort.processes + 1]))
    figures += noted("memory of a reader, beside plain Chroma's", memory(programs, asked[:50], min(3, effort.processes)))
    every = list(systems.asked())
    figures += noted("one question, beside plain Chroma's", alone(every, corpus, asked, limits))
    figures += noted("32 questions, beside plain Chroma's", batches(every, asked, limits))
    figures += noted("16 callers, beside plain Chroma's", callers(every, asked, limits))
    figures += noted("with a filter, beside plain Chroma's", filtered(every, corpus, asked, limits))
    systems.close()
    missing = [f"{each.name} (needs {each.package})" for each in systems.missing]
    print("\nmissing: " + (", ".join(missing) or "nothing"))
    return figures, {
        "leaves": len(corpus.ids),
        "documents": len(corpus.documents),
        "processors": os.cpu_count(),
        "packages": {package: version(package) for package in sorted({each.package for each in every})},
        "missing": missing,
        "systems": [{"name": each.name, "kind": each.kind, "note": each.note} for each in every],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="3,000 leaves, and growth from 1,000 to 3,000")
    size.add_argument("--full", action="store_true", help="100,000 leaves, and growth to 1,000,000")
    parser.add_argument("--leaves", type=int, help="number of leaves; 30,000 by default")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of leaves of growth; 10000 30000 100000 by default")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md and its pictures")
    parser.add_argument("--growing", type=Path, metavar="FOLDER", help="where to keep the indexes of several sizes")
    add_json_option(parser)
    arguments = parser.parse_args()
    quick, full = arguments.quick, arguments.full
    arguments.leaves = arguments.leaves or (3_000 if quick else 100_000 if full else 30_000)
    arguments.sizes = arguments.sizes or ([1_000, 3_000] if quick else growth.SIZES if full else [10_000, 30_000, 100_000])
    effort = QUICK if quick else USUAL
    folder = Path(tempfile.mkdtemp())
    kept = arguments.growing or folder / "growth"
    try:
        figures, compared = beside_peers(folder / "peers", arguments.leaves, effort)
        print("\ngrowth")
        figures += growth.measure(kept, arguments.sizes, effort.questions // 3, effort.processes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if arguments.page:
        arguments.json = arguments.json or RESULTS
    write_results("bench", arguments, figures, compared)
    if arguments.page:
        write_page(arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
