"""How fast a checkout is beside another checkout, such as main before a change.

    python benchmarks/two_checkouts.py OTHER [--documents 3000] [--rounds 30] [--most 1.03] [--json FILE]

Each checkout runs in a separate process, with its own index of the same documents. The two take turns, a few milliseconds
each, so that other work on the machine slows both. A figure is the time of this checkout over the time of the other one:
the median of the ratios of the rounds, and the range of their middle half.

Ends with 1 if a retrieval takes more than ``--most`` times as long as in the other checkout, or ``add`` over 5 % longer.
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
ADDED = 40  # documents, at once

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
    if name == "add":
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


def compare(ours: Side, theirs: Side, rounds: int, most: float) -> list[Figure]:
    """Let the two take turns, and print and return the ratios. Ratios of retrievals must be at most ``most``."""
    ratios: dict[str, list[float]] = {name: [] for name in (*ours.strategies, "add")}
    for number in range(-2, rounds):  # two rounds to warm up
        for name, found in ratios.items():
            count = ADDED if name == "add" else QUESTIONS
            taken = {}
            for side in (ours, theirs) if number % 2 else (theirs, ours):
                taken[side] = statistics.median(side.seconds(name, (number % 20) * count, count))
            if number >= 0:
                found.append(taken[ours] / taken[theirs])
    figures = []
    for name, found in ratios.items():
        low, middle, high = statistics.quantiles(found, n=4)
        figure = Figure(f"{name}: time over the other checkout's time", middle, "<=", 1.05 if name == "add" else most)
        figures.append(figure)
        verdict = "holds" if figure.passed else "FAILS"
        print(f"  {verdict}  {middle:6.3f} <= {figure.bound:<5g} {name} (middle half {low:.3f} to {high:.3f})")
    return figures


def main() -> int:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="folder of another checkout")
    parser.add_argument("--documents", type=int, default=3000, help="documents of about 30 leaves; default: 3000")
    parser.add_argument("--rounds", type=int, default=30, help="turns of each; default: 30")
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
        ours = Side(HERE, Path(folder) / "ours", data)
        theirs = Side(arguments.other.resolve(), Path(folder) / "theirs", data)
        print(f"{arguments.documents:,} documents, {arguments.rounds} rounds")
        figures = compare(ours, theirs, arguments.rounds, arguments.most)
        ours.close()
        theirs.close()
    write_results("two_checkouts", arguments, figures)
    return 0 if all_passed(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
