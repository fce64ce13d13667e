"""The cost of explanations.

    python benchmarks/explaining.py [--documents 1000] [--rounds 20] [--json FILE]

Three figures for each strategy. The first is the time of a retrieval through LangChain that gives each document its trace
(``explain=True``), divided by the time without the trace. The second is the time of ``explain`` without a document, which
records every request of a retrieval with its time, divided by the time of ``retrieve``. The two sides take turns, and the
figure is the median over the questions of the ratios of the best times, since other work disturbs best times least.
The third is the number of retrievals and milliseconds to say what keeps the 20th passage, or any leaf of the index, out.

Ends with 1 if one of the first two is above 1.05 for any strategy.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from results import Figure, add_json_option, all_passed, write_results
from shuffled import shuffled_questions, shuffled_texts

from langchain_ext import SpanRetriever
from leafspan import BM25, AutoMerging, Document, Hybrid, Index, RelevantSegments, SentenceWindow, Strategy, Vector
from leafspan.lab import explain

STRATEGIES: dict[str, Strategy] = {
    "Vector": Vector(),
    "BM25": BM25(),
    "Hybrid": Hybrid(),
    "SentenceWindow": SentenceWindow(),
    "AutoMerging": AutoMerging(),
    "RelevantSegments": RelevantSegments(),
}
QUESTIONS = 12
Ask = Callable[[str], Any]


def seconds(run: Callable[[], object]) -> float:
    """How long a call took."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def ratio(with_it: Ask, without: Ask, questions: list[str], rounds: int) -> float:
    """The ratio of two functions' times: the best time for each question, then the median of the ratios."""
    ratios = []
    for question in questions:
        times: dict[Ask, list[float]] = {with_it: [], without: []}
        for number in range(rounds):
            for ask in times if number % 2 else reversed(times):
                times[ask].append(seconds(lambda: ask(question)))  # noqa: B023
        ratios.append(min(times[with_it]) / min(times[without]))
    return statistics.median(ratios)


def costs(index: Index, strategy: Strategy, questions: list[str], rounds: int) -> Iterator[tuple[str, float]]:
    """Explanations, and their times over the time of a retrieval without them."""
    plain, traced = (SpanRetriever(index=index, strategy=strategy, k=8, explain=each).invoke for each in (False, True))
    yield "traces in LangChain over none", ratio(traced, plain, questions, rounds)
    retrieve, explain = (partial(ask, strategy=strategy, k=8) for ask in (index.retrieve, index.explain))
    yield "explain over retrieve", ratio(explain, retrieve, questions, rounds)


def kept_out(index: Index, strategy: Strategy, questions: list[str], *, near: bool) -> tuple[float, float]:
    """Medians: how many retrievals, and how many seconds, it takes to explain what is not returned.

    That is the 20th passage, or else any leaf of the index.
    """
    generator = random.Random(7)
    retrievals, taken = [], []
    documents = index.documents()
    for question in questions:
        if near:
            found = index.retrieve(question, strategy, k=20)[-1]
            place = {"document_id": found.document_id, "start": found.start, "end": found.end}
        else:
            document = generator.choice(documents)
            start = generator.randrange(document.characters)
            place = {"document_id": document.id, "start": start, "end": start + 1}
        began = time.perf_counter()
        explained = explain(index, question, strategy, **place)
        taken.append(time.perf_counter() - began)
        retrievals.append(explained.retrievals)
    return statistics.median(retrievals), statistics.median(taken)


def main() -> int:
    """Measure, and print two lines for each strategy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1000, help="documents of about 30 leaves; default: 1000")
    parser.add_argument("--rounds", type=int, default=20, help="turns at each question; default: 20")
    add_json_option(parser)
    arguments = parser.parse_args()

    generator = random.Random(11)
    texts = shuffled_texts(arguments.documents, generator)
    questions = shuffled_questions(QUESTIONS, generator)
    figures = []
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb", embedding_cache=False) as index:
        index.add([Document(f"book-{n}", text) for n, text in enumerate(texts)], progress=False)
        print(f"{arguments.documents:,} documents, {index.stats().leaves:,} leaves")
        for name, strategy in STRATEGIES.items():
            for what, cost in costs(index, strategy, questions, arguments.rounds):
                figure = Figure(f"{name}: {what}", cost, "<=", 1.05)
                figures.append(figure)
                verdict = "holds" if figure.passed else "FAILS"
                print(f"  {verdict}  {figure.value:6.3f} <= {figure.bound:<5g} {figure.name}", flush=True)
            for what, near in (("the 20th passage", True), ("any leaf", False)):
                retrievals, took = kept_out(index, strategy, questions, near=near)
                print(f"         {retrievals:g} retrievals, {took * 1000:,.0f} ms to explain {what}", flush=True)
    write_results("explaining", arguments, figures)
    return 0 if all_passed(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
