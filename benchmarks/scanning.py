"""How long an exact search takes, which compares all vectors, and how its time grows with their number.

    python benchmarks/scanning.py [--leaves 100000 1000000] [--dimension 256] [--questions 20]

The vectors are random ones around 2,000 centres, in the copy that an index in a folder keeps. The benchmark asks for the
100 nearest, and prints two ratios of the median time: to one product of matrices with all vectors, and to the first number
of leaves.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable

import numpy as np

from leafspan.search._scanning import scan
from leafspan.segments import VectorCopy
from leafspan.segments._segment import Segment
from leafspan.segments._snapshot import MirrorSnapshot, OpenSegment
from leafspan.store import Catalogue, DocumentTable, DocumentToWrite, Row

CENTRES, DOCUMENT, NEAREST = 2_000, 25, 100


def timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measured(leaves: int, dimension: int, questions: int) -> tuple[float, float]:
    """The median seconds of an exact search, and of a product of matrices."""
    numbers = np.random.default_rng(0)
    centres = numbers.normal(size=(CENTRES, dimension)).astype(np.float32)
    vectors = centres[numbers.integers(0, CENTRES, leaves)]
    vectors += 0.8 * numbers.standard_normal((leaves, dimension), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = {str(n): Row(str(n), "", "00000000", DOCUMENT) for n in range(leaves // DOCUMENT)}
    documents = [
        DocumentToWrite(row, [""] * DOCUMENT, [{}] * DOCUMENT, vectors[n * DOCUMENT : (n + 1) * DOCUMENT])
        for n, row in enumerate(rows.values())
    ]
    segment = Segment(
        DocumentTable.of([(id_, row.version, row.leaves) for id_, row in rows.items()]), VectorCopy().of(documents)
    )
    catalogue = Catalogue(rows)
    snapshot = MirrorSnapshot(catalogue, [OpenSegment(segment, None)])
    everything = catalogue.select(None)
    asked = centres[numbers.integers(0, CENTRES, questions)][:, None]
    scan(snapshot, catalogue, everything, asked[0], NEAREST)
    pairs = [
        (timed(lambda q=q: scan(snapshot, catalogue, everything, q, NEAREST)), timed(lambda q=q: vectors @ q[0]))  # type: ignore[misc]
        for q in asked
    ]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--questions", type=int, default=20)
    given = parser.parse_args()
    first = 0.0
    for leaves in given.leaves:
        seconds, product = measured(leaves, given.dimension, given.questions)
        first = first or seconds
        beside = f"{seconds / product:.2f} of a product, {seconds / first:.2f} of the first number of leaves"
        print(f"{leaves:>9,} leaves: {beside}")
        gc.collect()


if __name__ == "__main__":
    main()
