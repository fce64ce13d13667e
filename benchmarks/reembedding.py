"""An index that is re-embedded while others ask: is an answer late or mixed, and what is left after kills?

    python benchmarks/reembedding.py [--leaves 100000] [--kills 10]

One process re-embeds the index, and is killed again and again at a random time. Another one asks questions, and compares
the scores with the old embedder's scores. So that both are measured in one run, the first process is stopped for a few
seconds again and again: the times of questions while it works are compared with those while it is stopped. At the end the
index is compared with one that was made with the new embedder. Each process has a processor of its own, if there are two.
They share memory and disk: so the same is measured beside the re-embedding of a copy in another folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from corpus import WORDLLAMA
from shuffled import shuffled_questions, shuffled_texts

from leafspan import Document, Embedder, Hybrid, Index, Vector
from leafspan.flows import run
from leafspan.indexing import _copying
from leafspan.store import read_consistently

LEAVES_OF_A_DOCUMENT = 32
WINDOW = 3.0  # seconds in which the process works, and then is stopped
PAUSE = 0.02  # seconds between two questions
TOLERANCE = 1e-4


def turned(texts: list[str]) -> Any:
    """WordLlama's vectors with their numbers in another order, and half of them with another sign."""
    vectors = np.asarray(WORDLLAMA.documents(texts))
    return np.roll(vectors, 7, axis=1) * np.where(np.arange(vectors.shape[1]) % 2, 1, -1)


def turned_questions(texts: list[str]) -> Any:
    return turned(texts)


OTHER = Embedder("turned WordLlama", turned, turned_questions, local=True)


def documents(leaves: int) -> Iterator[Document]:
    texts = shuffled_texts(leaves // LEAVES_OF_A_DOCUMENT + 1, random.Random(1))
    for number, text in enumerate(texts):
        yield Document(f"d{number}", text)


def ask(folder: str, log: Path) -> None:
    """Ask until the process is ended, and log for each question when it began, how long it took, and what is wrong."""
    questions = shuffled_questions(200, random.Random(2))
    with Index.open(folder) as index, warnings.catch_warnings(), log.open("w") as lines:
        warnings.simplefilter("ignore", RuntimeWarning)
        index.warm()
        for number in range(10**9):
            question = questions[number % len(questions)]
            began = time.monotonic()
            index.retrieve(question, Hybrid(), k=5)
            took = time.monotonic() - began
            wrong = 0
            if number % 10 == 0:
                passages = index.retrieve(question, Vector(), k=5)
                query = np.asarray(WORDLLAMA.queries([question]))[0]
                vectors = np.asarray(WORDLLAMA.documents([each.text for each in passages]))
                scores = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
                wrong = int((np.abs(scores - [each.score for each in passages]) > TOLERANCE).sum()) + (len(passages) < 5)
            print(json.dumps([began, took, wrong]), file=lines, flush=True)
            time.sleep(PAUSE)


def started(processor: int, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a process on this processor, so that the two processes do not share one if there are several."""
    process = subprocess.Popen([sys.executable, __file__, *arguments])
    if hasattr(os, "sched_setaffinity"):
        all_of_them = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(process.pid, {all_of_them[processor % len(all_of_them)]})
    return process


def killed_again_and_again(folder: str, kills: int, chance: random.Random) -> tuple[int, list[tuple[float, float, bool]]]:
    """Re-embed. Return the number of kills, and the windows of time in which the process worked, and was stopped."""
    windows: list[tuple[float, float, bool]] = []
    done = 0
    while True:
        worker = started(0, "--reembed", folder)
        left = chance.uniform(4, 12) if done < kills else float("inf")
        while worker.poll() is None:
            for works in (True, False):
                worker.send_signal(signal.SIGCONT if works else signal.SIGSTOP)
                began = time.monotonic()
                seconds = min(WINDOW, left) if works else WINDOW
                while worker.poll() is None and time.monotonic() < began + seconds:
                    time.sleep(0.01)
                windows.append((began + 0.2, time.monotonic() - 0.2, works))
                left -= seconds if works else 0
                if left <= 0 or worker.poll() is not None:
                    break
            if left <= 0:
                worker.kill()
                worker.wait()
                done += 1
        worker.wait()
        if worker.returncode == 0:
            return done, windows


def times_in(answers: list[Any], windows: list[tuple[float, float, bool]], *, works: bool) -> list[float]:
    """The times of the questions within the windows in which the process worked, or was stopped."""
    some = [(start, end) for start, end, at_work in windows if at_work == works]
    return [took for began, took, _ in answers if any(start <= began and began + took <= end for start, end in some)]


def same(index: Index, fresh: Index) -> bool:
    """Whether rows, texts, places and vectors are equal."""

    def stored(each: Index, ids: list[str]) -> list[Any]:
        read = partial(_copying._documents, source=each._store, ids=ids)
        return sorted(run(read_consistently(each._store, read)), key=lambda document: document.row.document_id)

    ids = [each.id for each in fresh.documents()]
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        for one, other in zip(stored(index, some), stored(fresh, some), strict=True):
            if one[1:3] != other[1:3] or one.row.checksums != other.row.checksums or one.row.hash != other.row.hash:
                return False
            if not np.allclose(one.vectors, other.vectors, atol=1e-6):
                return False
    return index.count() == fresh.count()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--reembed", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        ask(arguments.ask[0], Path(arguments.ask[1]))
        return 0
    if arguments.reembed:
        with Index.open(arguments.reembed) as index:
            index.reembed(OTHER, progress=False)
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = str(Path(place) / "kb")
        with Index.open(folder) as index:
            index.add(documents(arguments.leaves), progress=False)
            index.warm()
            print(f"{index.stats().leaves:,} leaves in {index.count():,} documents")
        log = Path(place) / "log"
        asking = started(1, "--ask", folder, str(log))
        while not (log.exists() and log.read_text()):  # until it is warm
            time.sleep(0.1)
        elsewhere = str(shutil.copytree(folder, Path(place) / "elsewhere"))
        _, control = killed_again_and_again(elsewhere, 0, random.Random(1))
        kills, windows = killed_again_and_again(folder, arguments.kills, random.Random(1))
        asking.terminate()
        answers = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("]")]
        wrong = sum(each[2] for each in answers)
        print(f"{kills} kills; {len(answers):,} questions, {wrong} passages with another score than by the old vectors")
        for where, some in (("another folder", control), ("this folder", windows)):
            beside, alone = times_in(answers, some, works=True), times_in(answers, some, works=False)
            late = statistics.quantiles(beside, n=20)[-1] / statistics.quantiles(alone, n=20)[-1]
            ratio = statistics.median(beside) / statistics.median(alone)
            print(f"a question beside the re-embedding of {where}: {ratio:.2f} times as long, 95th percentile {late:.2f}")
        with Index.open(folder, embedder=OTHER) as index, Index.open(Path(place) / "fresh", embedder=OTHER) as fresh:
            fresh.add(documents(arguments.leaves), progress=False)
            print(f"equal to an index that is new: {same(index, fresh)}; check finds {index.check(quick=True)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
