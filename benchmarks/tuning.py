"""What tuning gains on questions that it has not seen, and whether it refuses noise.

    python benchmarks/tuning.py --data FOLDER [--set covidqa] [--seed 0] [--json FILE]

FOLDER holds a folder for each question set: see ``build_data.py``. Half of a set's questions, drawn at random, choose
among strategies. The report is on the other half: the mean of the recall over 150, 300, 600 and 1,200 words. Tuning
starts from an ``Ensemble`` of vectors and BM25 in which vectors count nearly alone, from a ``Hybrid`` in which they do, and
from ``Hybrid``'s defaults, which were chosen with care. Then each question gets the answer of another question. Since this
is noise, the base must stay.

Takes half an hour. Ends with 1 if a bound is missed, with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile

from question_sets import (
    Documents,
    Questions,
    add_data_option,
    load_documents,
    load_questions,
    what_is_absent,
)
from results import Figure, add_json_option, all_passed, write_results

from leafspan import BM25, Document, Ensemble, Hybrid, Index, Strategy, Vector
from leafspan.lab import Question, Tuning, tune
from leafspan.lab.evaluation import Answer

LEAST = 0.015
BASES: dict[str, tuple[Strategy, bool]] = {  # and whether tuning must improve it
    "an Ensemble of vectors, mostly": (
        Ensemble(retrievers=[BM25(), Vector()], weights=(0.05, 0.95), fusion="relative_score"),
        True,
    ),
    "a Hybrid of vectors, mostly": (Hybrid(weights=(0.05, 0.95), references=0), False),
    "the defaults": (Hybrid(), False),
}
AT_RANDOM = "a Hybrid of vectors, mostly"


def main() -> int:
    parser = argparse.ArgumentParser(description="What tuning is worth.")
    add_data_option(parser, required=True)
    parser.add_argument("--set", default="covidqa", choices=("covidqa", "squad"), help="the question set")
    parser.add_argument("--seed", type=int, default=0, help="which questions are held out")
    add_json_option(parser)
    arguments = parser.parse_args()
    if problem := what_is_absent(arguments.data, [arguments.set]):
        print(problem, file=sys.stderr)
        return 2
    documents, questions = load_documents(arguments.data, arguments.set), load_questions(arguments.data, arguments.set)
    figures = measure(documents, questions, arguments.set, arguments.seed)
    write_results("tuning", arguments, figures)
    return int(not all_passed(figures))


def measure(documents: Documents, questions: Questions, name: str, seed: int) -> list[Figure]:
    """Tune from each base, and on random labels, and print the reports."""
    asked = [question_of(each, each) for each in questions]
    shuffled = random.Random(seed).sample(questions, len(questions))
    at_random = [question_of(each, other) for each, other in zip(questions, shuffled, strict=True)]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, Index.open(folder) as index:
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        for row, (base, must_gain) in BASES.items():
            found = tune(index, asked, base, seed=seed)
            show(f"{name}, from {row}", found)
            gain = found.difference.difference if found.is_better else 0.0
            bound = (">=", LEAST) if must_gain else (None, None)
            figures.append(Figure(f"from {row}: mean recall gained", gain, *bound, f"{name}, held out"))
            figures.append(Figure(f"from {row}: lower end", found.difference.low, None, None, f"{name}, held out"))
        found = tune(index, at_random, BASES[AT_RANDOM][0], seed=seed)
        show(f"{name}, random labels, from {AT_RANDOM}", found)
        figures.append(Figure("taken on random labels", float(found.is_better), "<=", 0.0, f"{name}, held out"))
    return figures


def question_of(asked: object, answered: object) -> Question:
    """One question with the answers of another, or its own."""
    assert isinstance(asked, dict)
    assert isinstance(answered, dict)
    answers = [Answer(each["doc_id"], each["start"], each["end"]) for each in answered["answers"]]
    return Question(asked["text"], answers, needs_all=answered.get("answer_mode") == "all", id=asked["id"])


def show(title: str, found: Tuning) -> None:
    print(f"\n{title}\n\n{found}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
