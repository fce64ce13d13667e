"""How much faster documents are added with more workers.

    python benchmarks/workers.py [--documents 400] [--json FILE]

The same documents are added to new indexes in a folder, one run after the other, three times: with an embedder that waits
20 milliseconds for each batch, as a service does, by one and by two workers; and with the bundled one, without workers and
with two. A figure is the middle of the ratios of the runs, in which the start of the processes is counted.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from results import Figure, add_json_option, all_passed, print_figures, write_results
from shuffled import shuffled_texts
from side_by_side import seconds

from leafspan import Document, Index

ROUNDS = 3


def waiting(texts: list[str]) -> Any:
    """Vectors after 20 milliseconds."""
    time.sleep(0.02)
    return np.random.default_rng(1).standard_normal((len(texts), 64)) + 0.1 * len(texts[0])


def texts_of(documents: int) -> list[Document]:
    """Documents of sentences of the example articles."""
    return [Document(f"d{n}", text) for n, text in enumerate(shuffled_texts(documents, random.Random(7)))]


def adding(documents: list[Document], embedder: Any, workers: int | None) -> float:
    """Seconds that an ``add`` takes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.open(Path(folder) / "kb", embedder=embedder, embedding_cache=False) as index,
    ):
        return seconds(lambda: index.add(documents, workers=workers, progress=False))


def figures(documents: list[Document]) -> Any:
    """The figures."""
    cases = [
        ("an embedder that waits 20 ms, two workers beside one", waiting, 1, 1.7),
        ("the bundled embedder, two workers beside none", None, None, None),
    ]
    for what, embedder, before, bound in cases:
        ratios = [adding(documents, embedder, before) / adding(documents, embedder, 2) for _ in range(ROUNDS)]
        yield Figure(what, statistics.median(ratios), None if bound is None else ">=", bound)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=400, help="number of documents, of some 32 leaves each")
    add_json_option(parser)
    arguments = parser.parse_args()
    found = print_figures(figures(texts_of(arguments.documents)), unbounded=True)
    write_results("workers", arguments, found)
    return int(not all_passed(found))


if __name__ == "__main__":
    sys.exit(main())
