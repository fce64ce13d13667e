"""What embedders find and cost: the bundled embedder, minilm and e5, side by side.

    python benchmarks/embedders.py --data FOLDER [--embedders wordllama minilm e5] [--queries 60] [--leaves 600]
        [--json FILE]

FOLDER holds a folder for each question set: see ``build_data.py``. The command takes documents with about this
number of leaves from each set, and questions that these documents answer. The figures:

- Recall: the share of questions that are answered within 150, 300, 600 and 1,200 words, as the mean of the four. Only some
  questions of scifact have spans; its recall counts these.
- RelevantSegments over each of four bases, beside the base itself. It may be at most 0.01 lower, as the mean over the sets.
- Questions with and without an answer: the share of own questions that ``min_answer_probability=0.5`` keeps, and the share
  of foreign questions that it refuses.
- The time of adding and of a question with Hybrid, as a multiple of the bundled embedder's time in the same run, and the
  memory that the process gains when it loads the model.

Ends with 1 if a bound is missed, with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from question_sets import (
    Documents,
    Questions,
    add_data_option,
    evenly_spaced,
    load_documents,
    load_questions,
    what_is_absent,
)
from results import Figure, add_json_option, all_passed, print_figures, write_results
from span_recall import BUDGETS, span_recall

from leafspan import BM25, Document, Ensemble, Hybrid, Index, Query, RelevantSegments, Strategy, Vector
from leafspan.embedding import to_embedder

SETS = {
    "squad": "",
    "covidqa": "",
    "hotpotqa": "",
    "scifact": "",
    "de": "xquad",
    "tr": "xquad",
    "ar": "xquad",
    "th": "xquad",
}
"""The sets, each with the folder that it is in."""
FOREIGN = {"squad": "covidqa", "covidqa": "squad", "hotpotqa": "scifact", "scifact": "squad"}
BASES: dict[str, Strategy] = {
    "Vector": Vector(),
    "BM25": BM25(),
    "Hybrid": Hybrid(),
    "Ensemble": Ensemble(retrievers=[BM25(), Vector()]),
}
MOST_BELOW_BASE = 0.01
WORDS_A_LEAF = 30


def documents_and_questions(folder: Path, name: str, queries: int, leaves: int) -> tuple[Documents, Questions]:
    """Take documents with about this number of leaves from a set, and questions that these documents answer."""
    documents = {each["id"]: each for each in load_documents(folder / SETS[name], name)}
    questions = [each for each in load_questions(folder / SETS[name], name) if each.get("answers")]
    taken: dict[str, Any] = {}
    words = 0
    for id_ in [*(id_ for each in evenly_spaced(questions, len(questions) // 3) for id_ in _needed(each)), *documents]:
        if id_ not in taken and words < leaves * WORDS_A_LEAF:
            taken[id_] = documents[id_]
            words += len(documents[id_]["text"].split())
    inside = [each for each in questions if _needed(each) <= taken.keys()]
    return list(taken.values()), evenly_spaced(inside, queries)


def _needed(question: Any) -> set[str]:
    return {answer["doc_id"] for answer in question["answers"]}


def measure(folder: Path, name: str, embedders: Sequence[str], queries: int, leaves: int) -> Iterator[Figure]:
    """The figures of one set."""
    documents, questions = documents_and_questions(folder, name, queries, leaves)
    texts = {each["id"]: each["text"] for each in documents}
    asked = [each["text"] for each in questions]
    adding: dict[str, float] = {}
    asking: dict[str, float] = {}
    for embedder in embedders:
        with tempfile.TemporaryDirectory() as place, Index.open(place, embedder=embedder, embedding_cache=False) as index:
            index.retrieve("Load the model.")
            began = time.perf_counter()
            index.add([Document(each["id"], each["text"], each.get("title")) for each in documents], progress=False)
            adding[embedder] = time.perf_counter() - began
            index.warm()
            asking[embedder] = median(_seconds(index, text) for text in asked[:30])
            vectors = to_embedder(embedder).queries(asked)  # once for all strategies
            queries_of = [Query(text, tuple(vector.tolist())) for text, vector in zip(asked, vectors, strict=True)]
            for row, strategy in BASES.items():
                of_base = _recall(index, strategy, queries_of, questions, texts)
                yield Figure(f"{embedder}, {row}: recall", of_base, part=name)
                segments = _recall(index, RelevantSegments(base=strategy), queries_of, questions, texts)
                yield Figure(f"{embedder}, RelevantSegments over {row}: recall", segments, part=name)
            if name in FOREIGN:
                yield from _answerable(index, asked, folder, name, embedder, queries)
    for embedder in embedders:
        yield Figure(
            f"{embedder}: time of adding, of the first embedder's", adding[embedder] / adding[embedders[0]], part=name
        )
        yield Figure(
            f"{embedder}: time of a question, of the first embedder's", asking[embedder] / asking[embedders[0]], part=name
        )


def _seconds(index: Index, text: str) -> float:
    began = time.perf_counter()
    index.retrieve(text, Hybrid())
    return time.perf_counter() - began


def _recall(index: Index, strategy: Strategy, asked: Sequence[Query], questions: Questions, texts: dict[str, str]) -> float:
    """The mean recall over the budgets, of a user's call."""
    found = []
    for budget in BUDGETS:
        rows = index.retrieve_many(asked, strategy, budget=budget)
        places = [[(each.document_id, each.start, each.end) for each in row] for row in rows]
        found.append(span_recall(places, questions, texts, budget))
    return fmean(found)


def _answerable(
    index: Index, asked: Sequence[str], folder: Path, name: str, embedder: str, queries: int
) -> Iterator[Figure]:
    other = FOREIGN[name]
    foreign = [each["text"] for each in evenly_spaced(load_questions(folder / SETS[other], other), queries)]
    strict = Hybrid(min_answer_probability=0.5)
    kept, refused = (
        fmean(bool(row) is own for row in index.retrieve_many(texts, strict, k=1))
        for texts, own in ((asked, True), (foreign, False))
    )
    yield Figure(f"{embedder}: own questions kept at 0.5", kept, part=name)
    yield Figure(f"{embedder}: foreign questions refused at 0.5", refused, part=name)


_MEASURE = """
import re, sys
from leafspan.embedding import to_embedder
def peak():  # getrusage would count the memory of the process that started this one
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
before = peak()
to_embedder(sys.argv[1]).documents(["Load the model."])
print((peak() - before) / 1024)
"""


def memory(embedders: Sequence[str]) -> Iterator[Figure]:
    """The memory that loading each model takes, in megabytes, in a separate process."""
    for embedder in embedders:
        done = subprocess.run([sys.executable, "-c", _MEASURE, embedder], capture_output=True, text=True, check=True)
        yield Figure(f"{embedder}: megabytes of the model", float(done.stdout))


def bounds(figures: Sequence[Figure], embedders: Sequence[str]) -> Iterator[Figure]:
    """RelevantSegments less its base, as means over the sets."""
    for embedder in embedders:
        for row in BASES:
            means: list[Any] = [
                fmean(each.value for each in figures if each.name == f"{embedder}, {of}{row}: recall")
                for of in ("", "RelevantSegments over ")
            ]
            yield Figure(f"{embedder}, RelevantSegments less {row}", means[1] - means[0], ">=", -MOST_BELOW_BASE)


def main() -> int:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser, required=True)
    parser.add_argument(
        "--embedders", nargs="+", default=["wordllama", "minilm", "e5"], help="embedders (default: all three)"
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="question sets (default: all)")
    parser.add_argument("--queries", type=int, default=60, help="questions of each set (default: 60)")
    parser.add_argument("--leaves", type=int, default=600, help="leaves of each set (default: 600)")
    add_json_option(parser)
    options = parser.parse_args()
    for name in options.sets:
        if absent := what_is_absent(options.data / SETS[name], [name]):
            print(absent, file=sys.stderr)
            return 2
    figures = list(memory(options.embedders))
    for name in options.sets:
        of_set = list(measure(options.data, name, options.embedders, options.queries, options.leaves))
        figures += of_set
        print(f"{name}")
        for each in of_set:
            print(f"  {each.name:<55}{each.value:>8.3f}", flush=True)
    figures += bounds(figures, options.embedders)
    print_figures(figures, decimals=3)
    write_results("embedders", options, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
