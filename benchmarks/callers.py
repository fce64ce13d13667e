"""How many questions an index answers at a time: for threads and tasks of one process, and for several processes.

    python benchmarks/callers.py [--leaves 100000] [--questions 400] [--rounds 5] [--folder FOLDER] [--json FILE]

All callers ask an index in a folder the same questions, in turns. A figure is the throughput as a multiple of a single
caller's: the median of the rounds, with their middle half. The possible throughput depends on the number of cores, which is
printed. With ``--folder``, an index that is stored there is used again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from corpus import Corpus, questions
from results import Figure, add_json_option, write_results
from side_by_side import ratio, seconds

from leafspan import BM25, Hybrid, Index, RelevantSegments, Strategy, Vector

STRATEGIES: dict[str, Strategy] = {
    "Vector": Vector(),
    "BM25": BM25(),
    "Hybrid": Hybrid(),
    "RelevantSegments": RelevantSegments(),
}
CALLERS = 16
PROCESSES = (2, 4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="number of leaves")
    parser.add_argument("--questions", type=int, default=400, help="number of questions, in each round")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds")
    parser.add_argument("--folder", type=Path, help="folder of the index, which is used again")
    parser.add_argument("--answer", metavar="STRATEGY", help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.answer:
        answer_when_told(arguments.folder, arguments.answer)
        return 0
    print(f"{os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        if not (folder / "leafspan").exists() and not (folder / "chroma.sqlite3").exists():
            corpus = Corpus.made(arguments.leaves)
            with Index.open(folder, embedder=corpus.embedder()) as index:
                for documents, _ in corpus.groups():
                    index.add(documents, progress=False)
        figures = []
        for figure in measure(folder, questions(arguments.questions), arguments.rounds):
            low, high = figure.middle_half or (figure.value, figure.value)
            print(f"{figure.value:6.2f}  {figure.name} (middle half {low:.2f} to {high:.2f})", flush=True)
            figures.append(figure)
    write_results("callers", arguments, figures)
    return 0


def measure(folder: Path, asked: Sequence[str], rounds: int) -> Iterator[Figure]:
    """The throughput of all ways to ask, strategy by strategy."""
    with Index.open(folder, read_only=True) as index, ThreadPoolExecutor(CALLERS) as pool:
        for name, strategy in STRATEGIES.items():
            ask = partial(index.retrieve, strategy=strategy, k=5)
            ways: dict[str, Callable[[], object]] = {
                "one caller": lambda ask=ask: list(map(ask, asked)),  # type: ignore[misc]
                f"{CALLERS} threads": lambda ask=ask: list(pool.map(ask, asked)),  # type: ignore[misc]
                f"{CALLERS} tasks": lambda strategy=strategy: asyncio.run(in_tasks(index, strategy, asked)),  # type: ignore[misc]
            }
            times: dict[str, list[float]] = {}
            for number in range(-1, rounds):
                taken = {way: seconds(work) for way, work in ways.items()}
                taken |= {f"{count} processes": seconds_of_processes(folder, name, asked, count) for count in PROCESSES}
                if number >= 0:
                    for way, each in taken.items():
                        times.setdefault(way, []).append(each)
            for way in list(times)[1:]:
                middle, low, high = ratio(times["one caller"], times[way])
                yield Figure(f"{name}, {way}", middle, part="throughput of one caller", middle_half=(low, high))


async def in_tasks(index: Index, strategy: Strategy, asked: Sequence[str]) -> None:
    """Ask all questions, with one task for each caller."""
    left = list(asked)

    async def caller() -> None:
        while left:
            await index.aretrieve(left.pop(), strategy, k=5)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


def seconds_of_processes(folder: Path, name: str, asked: Sequence[str], count: int) -> float:
    """The seconds that this number of warm processes take to answer all questions."""
    command = [sys.executable, __file__, "--folder", str(folder), "--answer", name]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(count)]
    shares = [asked[number::count] for number in range(count)]
    for process, share in zip(processes, shares, strict=True):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{len(share)}\n" + "".join(f"{question}\n" for question in share))
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
    begun = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
    taken = time.perf_counter() - begun
    for process in processes:
        process.wait()
    return taken


def answer_when_told(folder: Path, name: str) -> None:
    """Read questions from standard input, warm up, report this, and answer the questions when the input ends."""
    asked = [sys.stdin.readline().strip() for _ in range(int(sys.stdin.readline()))]
    with Index.open(folder, read_only=True) as index:
        for question in asked:
            index.retrieve(question, STRATEGIES[name], k=5)
        print("ready", flush=True)
        sys.stdin.read()
        for question in asked:
            index.retrieve(question, STRATEGIES[name], k=5)
        print("done", flush=True)


if __name__ == "__main__":
    sys.exit(main())
