"""How fast a checkout is beside another checkout, such as main before a change.

    python benchmarks/two_checkouts.py OTHER [--documents 1000] [--pairs 7] [--rounds 10] [--most 1.03] [--json FILE]

Each checkout runs in a separate process, with its own index of the same documents. The two take turns, a few milliseconds
each, so that other work on the machine slows both. Two processes of one checkout can differ by a third all their life, so
several pairs are started, one after the other. A figure is the time of this checkout over the time of the other one: the
median of the ratios of the rounds in each pair, then the median of the pairs, with the least and the greatest of them.

Ends with 1 if a retrieval takes more than ``--most`` times as long as in the other checkout, or an ``add`` over 5 % longer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from results import Figure, add_json_option, all_passed, write_results
from shuffled import shuffled_questions, shuffled_texts

HERE = Path(__file__).parents[1]
QUESTIONS = 20  # per turn
ADDED = {"add of 40 documents": 40, "add of one document": 1}

WORKER = """
import json, sys, time
import leafspan
from leafspan import BM25, AutoMerging, Document, F, Hybrid, Index, RelevantSegments, SentenceWindow, Vector

folder, texts, questions = sys.argv[1], *(json.load(open(path)) for path in sys.argv[2:4])
strategies = {
    "Vector": (Vector(), {}),
    "BM25": (BM25(), {}),
    "Hybrid": (Hybrid(), {}),
    "AutoMerging": (AutoMerging(), {}),
    "SentenceWindow": (SentenceWindow(), {}),
    "RelevantSegments": (RelevantSegments(), {}),
    "Hybrid with a filter": (Hybrid(), {"where": F("n") < len(texts) // 2}),
}
index = Index.open(folder, embedding_cache=False)
index.add([Document(f"book-{n}", text, metadata={"n": n}) for n, text in enumerate(texts)], progress=False)
print(json.dumps([leafspan.__file__, list(strategies)]), flush=True)
for line in sys.stdin:
    name, first, count = json.loads(line)
    seconds = []
    if name not in strategies:
        new = [Document(f"new-{n}", f"{n} {texts[n % len(texts)]}") for n in range(first, first + count)]
        began = time.perf_counter()
        index.add(new, progress=False)
        seconds.append(time.perf_counter() - began)
        index.delete([each.id for each in new])
    else:
        strategy, options = strategies[name]
        for question in questions[first : first + count]:
            began = time.perf_counter()
            index.retrieve(question, strategy, k=8, **options)
            seconds.append(time.perf_counter() - began)
    print(json.dumps(seconds), flush=True)
"""


class Side:
    """The process of one checkout.

    Args:
        checkout: Its folder.
        place: A new folder for its index.
        data: The files with the texts and the questions.
    """

    def __init__(self, checkout: Path, place: Path, data: list[str]) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout / "shared"), str(checkout)])}
        command = [sys.executable, "-c", WORKER, str(place), *data]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=place.parent
        )
        package, self.strategies = self._answer()
        if not Path(package).is_relative_to(checkout / "shared"):
            raise SystemExit(f"{checkout} must be a checkout of leafspan, but its processes import {package}")

    def seconds(self, name: str, first: int, count: int) -> list[float]:
        """How long each question took with a strategy, or how long adding all documents took."""
        assert self._process.stdin is not None
        print(json.dumps([name, first, count]), file=self._process.stdin, flush=True)
        return list(self._answer())

    def close(self) -> None:
        """End its process."""
        self._process.communicate("")

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a process ended with {self._process.wait()}: see above")
        return json.loads(line)


def compare(ours: Side, theirs: Side, rounds: int) -> dict[str, float]:
    """Let a pair of processes take turns. Returns the median of the ratios of each strategy, and of each ``add``."""
    ratios: dict[str, list[float]] = {name: [] for name in (*ours.strategies, *ADDED)}
    for number in range(-2, rounds):  # two rounds to warm up
        for name, found in ratios.items():
            count = ADDED.get(name, QUESTIONS)
            taken = {}
            for side in (ours, theirs) if number % 2 else (theirs, ours):
                taken[side] = statistics.median(side.seconds(name, (number % 20) * count, count))
            if number >= 0:
                found.append(taken[ours] / taken[theirs])
    return {name: statistics.median(found) for name, found in ratios.items()}


def report(pairs: list[dict[str, float]], most: float) -> list[Figure]:
    """Print and return the median of the pairs. Ratios of retrievals must be at most ``most``."""
    figures = []
    for name in pairs[0]:
        found = [pair[name] for pair in pairs]
        bound = 1.05 if name in ADDED else most
        figures.append(Figure(f"{name}: time over the other checkout's time", statistics.median(found), "<=", bound))
        verdict = "holds" if figures[-1].passed else "FAILS"
        print(f"  {verdict}  {figures[-1].value:6.3f} <= {bound:<5g} {name} (pairs {min(found):.3f} to {max(found):.3f})")
    return figures


def main() -> int:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="folder of another checkout")
    parser.add_argument("--documents", type=int, default=1000, help="documents of about 30 leaves; default: 1000")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of processes, one after the other; default: 7")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each in a pair; default: 10")
    parser.add_argument(
        "--most",
        type=float,
        default=1.03,
        help="the longest that a retrieval may take, in times of the other; default: 1.03",
    )
    add_json_option(parser)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        generator = random.Random(11)
        texts = shuffled_texts(arguments.documents, generator)
        data = [str(Path(folder) / name) for name in ("texts.json", "questions.json")]
        for path, values in zip(data, (texts, shuffled_questions(20 * QUESTIONS, generator)), strict=True):
            Path(path).write_text(json.dumps(values), encoding="utf-8")
        print(f"{arguments.documents:,} documents, {arguments.pairs} pairs of processes, {arguments.rounds} rounds")
        ratios = []
        for number in range(arguments.pairs):
            ours = Side(HERE, Path(folder) / f"ours-{number}", data)
            theirs = Side(arguments.other.resolve(), Path(folder) / f"theirs-{number}", data)
            ratios.append(compare(ours, theirs, arguments.rounds))
            ours.close()
            theirs.close()
        figures = report(ratios, arguments.most)
    write_results("two_checkouts", arguments, figures)
    return 0 if all_passed(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
