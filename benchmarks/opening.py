"""How soon a process answers: one that has just begun, one after an `add`, and one beside a writer.

    python benchmarks/opening.py [--leaves 100000] [--rounds 15] [--json FILE]

A new process imports what it needs, opens the index, embeds a question and retrieves five passages; beside it another one
does the same with plain Chroma, in turns, as its users write it. Both embed with WordLlama, and neither compiles a module,
which an installer has done. Everything is compared within one run, by ratios of
medians. The corpus is made of shuffled sentences of the example articles, so nothing is downloaded.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import chromadb
from results import Figure, add_json_option, all_passed, print_figures, write_results
from shuffled import shuffled_questions, shuffled_texts

from leafspan import Document, Hybrid, Index

OURS = """
import sys
from leafspan import Index, {strategy}
with Index.open(sys.argv[1]) as index:
    assert len(index.retrieve(sys.argv[2], {strategy}(), k=5)) == 5
"""

PLAIN = """
import sys
from pathlib import Path
import chromadb
import wordllama
collection = chromadb.PersistentClient(sys.argv[1]).get_collection("plain", embedding_function=None)
model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
vectors = model.embed([sys.argv[2]], norm=True)
found = collection.query(query_embeddings=vectors, n_results=24, include=["documents", "metadatas", "distances"])
assert len(found["ids"][0]) == 24
"""

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
    documents = [Document(f"d{n}", text) for n, text in enumerate(shuffled_texts(leaves // 30, random.Random(7)))]
    client = chromadb.PersistentClient(str(folder / "plain"), settings=chromadb.Settings(anonymized_telemetry=False))
    plain = client.create_collection("plain", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
    with Index.open(folder / "ours") as index:
        index.add(documents, progress=False)
        stored = index.client.get_collection("kb.leaves", embedding_function=None)
        while page := stored.get(limit=5000, offset=plain.count(), include=["documents", "embeddings"]):
            if not page["ids"]:
                return
            plain.add(ids=page["ids"], documents=page["documents"], embeddings=page["embeddings"])


def seconds(what: Callable[[], object]) -> float:
    started = time.perf_counter()
    what()
    return time.perf_counter() - started


def cold(folder: Path, rounds: int) -> list[Figure]:
    """The first answer of a new process."""
    programs = {name: (OURS.format(strategy=name), "ours") for name in ("Vector", "Hybrid")} | {"plain": (PLAIN, "plain")}
    times: dict[str, list[float]] = {name: [] for name in programs}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for question in shuffled_questions(rounds + 1, random.Random(11)):
        for name, (program, place) in programs.items():
            command = [sys.executable, "-W", "ignore", "-c", program, str(folder / place), question]
            started = time.perf_counter()
            subprocess.run(command, check=True, env=environment)
            times[name].append(time.perf_counter() - started)
    # The first one reads from the disk, and compiles where nothing has yet.
    medians = {name: statistics.median(each[1:]) for name, each in times.items()}
    return [
        Figure(
            f"{name}, first answer of a new process, beside plain Chroma's", medians[name] / medians["plain"], "<=", bound
        )
        for name, bound in (("Vector", 0.5), ("Hybrid", 0.6))
    ]


def after_writes(folder: Path, rounds: int) -> list[Figure]:
    """The first question after an `add` of this process, and after one of another process, beside the second."""
    own: list[float] = []
    other: list[float] = []
    usual: list[float] = []
    texts = shuffled_texts(3 * rounds, random.Random(5))
    questions = iter(shuffled_questions(8 * rounds, random.Random(3)))
    with Index.open(folder / "ours") as index:
        for number in range(rounds):
            some = texts[3 * number :][:3]
            index.add([Document(f"new-{number}-{place}", text) for place, text in enumerate(some)], progress=False)
            own.append(seconds(lambda: index.retrieve(next(questions), Hybrid(), k=5)))
            usual += [seconds(lambda: index.retrieve(next(questions), Hybrid(), k=5)) for _ in range(3)]
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
            other.append(seconds(lambda: index.retrieve(next(questions), Hybrid(), k=5)))
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
