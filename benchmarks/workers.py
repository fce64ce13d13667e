"""How much faster more workers add documents.

    python benchmarks/workers.py [--documents 400] [--json FILE]

The same documents are added to new indexes in a folder, one run after the other, three times, by one and by two workers:
with an embedder that waits 20 milliseconds for every 8 texts, as a service does, with one that waits as long for a call of
128 texts, and with the bundled one, without workers and with two. A figure is the median of the ratios of the runs, which
include starting the processes. Finally, the benchmark measures the share of Chroma's writing in an add without workers.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from results import Figure, add_json_option, all_passed, print_figures, write_results
from shuffled import shuffled_texts
from side_by_side import seconds

from leafspan import Document, Index
from leafspan.engines.chroma._collection import Collection

ROUNDS = 3


def vectors_after(seconds: float, texts: list[str]) -> Any:
    """Return vectors after a while."""
    time.sleep(seconds)
    return np.random.default_rng(1).standard_normal((len(texts), 64)) + 0.1 * len(texts[0])


def slow(texts: list[str]) -> Any:
    """Return vectors after 20 milliseconds for every 8 texts."""
    return vectors_after(0.02 * -(-len(texts) // 8), texts)


def quick(texts: list[str]) -> Any:
    """Return vectors after 20 milliseconds."""
    return vectors_after(0.02, texts)


def texts_of(documents: int) -> list[Document]:
    """Documents with sentences of the example articles."""
    return [Document(f"d{n}", text) for n, text in enumerate(shuffled_texts(documents, random.Random(7)))]


def adding(documents: list[Document], embedder: Any, workers: int | None) -> float:
    """Seconds of an ``add``."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.open(Path(folder) / "kb", embedder=embedder, embedding_cache=False) as index,
    ):
        return seconds(lambda: index.add(documents, workers=workers, progress=False))


CASES = (
    ("an embedder that waits 20 ms for 8 texts, two workers beside one", slow, 1, 1.7),
    ("an embedder that waits 20 ms for 128 texts, two workers beside one", quick, 1, None),
    ("the bundled embedder, two workers beside none", None, None, None),
)


def writing(documents: list[Document]) -> float:
    """The share of an ``add`` in which Chroma writes."""
    spent = 0.0
    write = Collection._write

    def timed(self: Any, *given: Any) -> Any:
        nonlocal spent
        begun = time.perf_counter()
        result = yield from write(self, *given)
        spent += time.perf_counter() - begun
        return result

    with mock.patch.object(Collection, "_write", timed):
        whole = adding(documents, None, None)
    return spent / whole


def figures(documents: list[Document]) -> Iterator[Figure]:
    """The figures, one after the other."""
    for what, embedder, before, bound in CASES:
        ratios = [adding(documents, embedder, before) / adding(documents, embedder, 2) for _ in range(ROUNDS)]
        yield Figure(what, statistics.median(ratios), None if bound is None else ">=", bound)
    yield Figure("share of an add in which Chroma writes", writing(documents))


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
