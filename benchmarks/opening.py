"""How soon a process answers: a new process, a process after an `add`, and a process beside a writer.

    python benchmarks/opening.py [--leaves 100000] [--rounds 15] [--json FILE]

A new process imports its modules, opens the index, embeds a question and retrieves five passages. Another one does the
same with plain Chroma, in turns, as its users write it. Both embed with WordLlama, and all modules are compiled before, as
by an installer. Everything is compared within one run, by medians of ratios. The corpus consists of shuffled sentences of
the example articles, so that nothing is downloaded.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from corpus import Corpus, add_to_plain, plain_client, plain_collection, questions
from measures.processes import cold_times
from peers.programs import LEAFSPAN, PLAIN_AS_WRITTEN
from results import Figure, add_json_option, all_passed, print_figures, write_results
from shuffled import shuffled_questions, shuffled_texts
from side_by_side import seconds

from leafspan import Document, Hybrid, Index

WRITE = """
import sys
from leafspan import Document, Index
with Index.open(sys.argv[1]) as index:
    for number, line in enumerate(sys.stdin):
        index.add(Document("late", f"Something was written here, number {number}."))
        print("written", flush=True)
"""


def build(folder: Path, leaves: int) -> None:
    """An index, and a plain collection with the same leaves."""
    corpus = Corpus.made(leaves)
    plain = plain_collection(plain_client(folder / "plain"))
    with Index.open(folder / "ours", embedder=corpus.embedder()) as index:
        for documents, rows in corpus.groups():
            index.add(documents, progress=False)
            add_to_plain(plain, corpus, rows)


def cold(folder: Path, rounds: int) -> Iterator[Figure]:
    """The first answer of a new process."""
    programs = {name: (program, folder / "ours") for name, program in LEAFSPAN.items()}
    times = cold_times({"plain": (PLAIN_AS_WRITTEN, folder / "plain"), **programs}, questions(rounds + 1))
    for name, bound in (("Vector", 0.5), ("Hybrid", 0.6)):
        middle, low, high = times.ratio(name, "plain")
        what = f"{name}, first answer of a new process, beside plain Chroma's"
        yield Figure(what, middle, "<=", bound, middle_half=(low, high))


def after_writes(folder: Path, rounds: int) -> list[Figure]:
    """The first question after an `add` of this process, and after an `add` of another process, beside the second."""
    own: list[float] = []
    other: list[float] = []
    usual: list[float] = []
    texts = shuffled_texts(3 * rounds, random.Random(5))
    asked = iter(shuffled_questions(8 * rounds, random.Random(3)))
    with Index.open(folder / "ours") as index:
        for number in range(rounds):
            some = texts[3 * number :][:3]
            index.add([Document(f"new-{number}-{place}", text) for place, text in enumerate(some)], progress=False)
            own.append(seconds(lambda: index.retrieve(next(asked), Hybrid(), k=5)))
            usual += [seconds(lambda: index.retrieve(next(asked), Hybrid(), k=5)) for _ in range(3)]
    command = [sys.executable, "-W", "ignore", "-c", WRITE, str(folder / "ours")]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer,
        Index.open(folder / "ours") as index,
    ):
        assert writer.stdin is not None
        assert writer.stdout is not None
        index.warm()
        for _ in range(rounds):
            print("write", file=writer.stdin, flush=True)
            assert writer.stdout.readline() == "written\n"
            other.append(seconds(lambda: index.retrieve(next(asked), Hybrid(), k=5)))
        writer.stdin.close()
    ordinary = statistics.median(usual)
    return [
        Figure(
            "ms by which the first question after an add takes longer",
            1e3 * (statistics.median(own) - ordinary),
            "<=",
            50.0,
        ),
        Figure("ms the same after an add of another process", 1e3 * (statistics.median(other) - ordinary), "<=", 10.0),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=100_000, help="number of leaves")
    parser.add_argument("--rounds", type=int, default=15, help="number of new processes, and of writes")
    add_json_option(parser)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        build(folder, arguments.leaves)
        figures = print_figures([*cold(folder, arguments.rounds), *after_writes(folder, arguments.rounds)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    write_results("opening", arguments, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
