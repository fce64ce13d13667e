"""How the numbers of Hybrid's evidence are chosen, and their results on question sets on which they were not chosen.

    python benchmarks/choosing.py --data FOLDER [--set squad --set tatqa ...] [--queries 100] [--json FILE]
    python benchmarks/choosing.py --data FOLDER --other-embedders [--queries 400] [--json FILE]

FOLDER holds a folder for each question set: see ``build_data.py`` and ``quality.py``. For each set, the numbers are chosen
on the others and measured on the one left out, beside the numbers chosen on all, the present ones, and Hybrid without
references, larger nodes and soft matches ("before"). Where a set has enough questions, they are not the ones of
``quality.py``: the training claims of scifact, for example.

The figure of a set is its recall if all ranked leaves count (see ``quality.py``), as the mean over the budgets, or
nDCG@10. The best numbers have the highest mean of the figures, less the worst loss beside the better of BM25 and Vector on
any set and budget, if that loss is above 0.01. From the present ones, each number in turn is tried at three quarters and at
four thirds of its value, and the best value is kept, in two rounds. Twice as much evidence in all hardly changes the order
of the leaves, but their probabilities: ``answerable.py`` and ``calibration.py`` show whether these are true.

``--other-embedders`` uses an embedder that is bad on purpose (``random_projection.py``). Hybrid must still keep up with
the better of BM25 and Vector.

Ends with 1 if a bound is missed, with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean

from hybrid_parts import HybridWith
from quality import (
    DOCUMENT_SETS,
    LESS_THAN_BEFORE,
    LESS_THAN_EITHER,
    NDCG,
    NOT_MADE,
    PAGE_BUDGETS,
    PAGE_SETS,
    PLAIN,
    RANKED,
    RANKED_LEAVES,
    SETS,
    SPAN_SETS,
    WITHIN_REPORTS,
    by_report,
    index_of,
    ndcg,
    pages_reached,
    rank,
)
from question_sets import (
    ASKED,
    Questions,
    add_data_option,
    evenly_spaced,
    load_documents,
    load_questions,
    what_is_absent,
)
from random_projection import random_projection
from remembered import Remembered
from results import Figure, add_json_option, all_passed, print_figures, write_results
from span_recall import BUDGETS, Place, span_recall

from leafspan import BM25, Hybrid, Strategy, Vector
from leafspan.strategies._hybrid_pool import EVIDENCE, Evidence

CHOSEN_ON = 100  # questions of each set
CANDIDATES = {**RANKED_LEAVES, **dict.fromkeys(DOCUMENT_SETS, 100)}  # as quality.py
NUMBERS = (*Evidence._fields, "references")
ROUNDS, LESS, MORE = 2, 3 / 4, 4 / 3
PRESENT = HybridWith(EVIDENCE, Hybrid())
RIVALS = ("without it", "all", "present", "before", "BM25", "Vector")
NOT_BEST = 0.01  # the present numbers may be this much worse than the best ones

Figures = Mapping[str, float]  # recall by budget, or nDCG@10
Places = Sequence[Sequence[Place]]


@dataclass(slots=True)
class Measured:
    """A question set, and the results of each setting.

    Attributes:
        judge: Function from the places of each question's passages to the figures.
        asked: By what precedes the names of the figures: the numbers of the questions that are asked together, and the
            index with these questions.
        found: The figures of each tried strategy.
    """

    judge: Callable[[Places], Figures]
    asked: Mapping[str, Sequence[tuple[Sequence[int], Remembered]]]
    found: dict[Strategy, Figures] = field(default_factory=dict)

    def figures(self, strategy: Strategy) -> Figures:
        """The figures of a strategy."""
        if strategy not in self.found:
            self.found[strategy] = {
                f"{part}{name}": value
                for part, groups in self.asked.items()
                for name, value in self.judge(_ranked(groups, strategy)).items()
            }
        return self.found[strategy]

    def mean(self, strategy: Strategy) -> float:
        """Recall as the mean over the budgets, or nDCG@10."""
        return fmean(self.figures(strategy).values())

    def worst_loss(self, strategy: Strategy) -> float:
        """The largest lead of the better of BM25 and Vector at any budget; below 0 if it never leads."""
        words, vectors = self.figures(BM25()), self.figures(Vector())
        return max(max(words[name], vectors[name]) - value for name, value in self.figures(strategy).items())


def _ranked(groups: Sequence[tuple[Sequence[int], Remembered]], strategy: Strategy) -> Places:
    found = dict(pair for numbers, each in groups for pair in zip(numbers, each.rank(strategy), strict=True))
    return [found[number] for number in range(len(found))]


def main() -> int:
    parser = argparse.ArgumentParser(description="How the numbers of Hybrid's evidence are chosen.")
    add_data_option(parser, required=True)
    parser.add_argument("--set", choices=SETS, action="append", help="one set of at least two; all by default")
    parser.add_argument("--queries", type=int, help=f"questions of each set: {CHOSEN_ON}, with other embedders {ASKED}")
    parser.add_argument(
        "--other-embedders", action="store_true", help="check Hybrid over an embedder that is bad on purpose"
    )
    add_json_option(parser)
    arguments = parser.parse_args()
    sets = arguments.set or [name for name in SETS if name not in NOT_MADE or (arguments.data / name).is_dir()]
    if len(sets) < 2:
        parser.error("there must be two sets, to leave one of them out")
    if problem := what_is_absent(arguments.data, sets):
        print(problem, file=sys.stderr)
        return 2
    if arguments.other_embedders:
        spans = [name for name in sets if name in SPAN_SETS]
        figures = report_other_embedders(arguments.data, spans, arguments.queries or ASKED)
    else:
        with ExitStack() as stack:
            figures = report(measure(arguments.data, sets, arguments.queries or CHOSEN_ON, stack))
    write_results("choosing", arguments, figures)
    return int(not all_passed(figures))


def measure(folder: Path, sets: Sequence[str], count: int, stack: ExitStack) -> dict[str, Measured]:
    """The question sets, each with an index that lasts as long as the stack."""
    measured = {}
    for name in sets:
        documents, questions = load_documents(folder, name), questions_to_choose_on(folder, name, count)
        texts = {document["id"]: document["text"] for document in documents}
        index = stack.enter_context(index_of(documents))
        parts = {"": name in WITHIN_REPORTS} | ({"within, ": True} if name in PAGE_SETS else {})
        asked = {
            part: [
                (numbers, Remembered(index, [questions[each]["text"] for each in numbers], CANDIDATES[name], where))
                for where, numbers in by_report(questions, within)
            ]
            for part, within in parts.items()
        }
        if name in DOCUMENT_SETS:
            measured[name] = Measured(partial(judge_documents, questions), asked)
        else:
            measured[name] = Measured(partial(judge_words, questions, texts, is_page=name in PAGE_SETS), asked)
    return measured


def questions_to_choose_on(folder: Path, name: str, count: int) -> Questions:
    """Questions of a set that quality.py does not ask, or any questions if it asks all."""
    questions = load_questions(folder, name)
    if name in DOCUMENT_SETS:
        others = [each for each in questions if each.get("split", "test") != "test"]
    else:
        asked = {each["id"] for each in evenly_spaced(questions, ASKED)}
        others = [each for each in questions if each["id"] not in asked]
    return evenly_spaced(others or questions, count)


def judge_words(questions: Questions, texts: Mapping[str, str], rows: Places, *, is_page: bool) -> Figures:
    """The recall for each budget, or the share of questions whose page is reached."""
    if is_page:
        return {f"{words} words": fmean(pages_reached(rows, questions, texts, words)) for words in PAGE_BUDGETS}
    return {f"{words} words": span_recall(rows, questions, texts, words) for words in BUDGETS}


def judge_documents(questions: Questions, rows: Places) -> Figures:
    """The nDCG@10 of documents, ranked by their best passage."""
    ranked = [list(dict.fromkeys(document_id for document_id, _, _ in row)) for row in rows]
    return {NDCG: fmean(map(ndcg, ranked, (each["relevant"] for each in questions)))}


def number_of(setting: HybridWith, name: str) -> float:
    """One of the numbers of a setting."""
    return float(setting.hybrid.references if name == "references" else getattr(setting.most, name))


def with_number(setting: HybridWith, name: str, value: float) -> HybridWith:
    """The setting with another value, in two digits, of one of its numbers."""
    value = float(f"{value:.2g}")
    if name == "references":
        return replace(setting, hybrid=replace(setting.hybrid, references=min(1.0, value)))
    return replace(setting, most=setting.most._replace(**{name: value}))


def objective(measured: Mapping[str, Measured], names: Sequence[str], setting: Strategy) -> float:
    """The value by which settings are compared: the mean of the sets' figures, less the worst loss if it is above 0.01."""
    worst = max(measured[name].worst_loss(setting) for name in names)
    return fmean(measured[name].mean(setting) for name in names) - (worst if worst > LESS_THAN_EITHER else 0.0)


def choose(measured: Mapping[str, Measured], names: Sequence[str]) -> HybridWith:
    """The best setting for some sets; of equal ones, the first."""
    best = PRESENT
    for _ in range(ROUNDS):
        before = best
        for name in NUMBERS:
            value = number_of(best, name)
            steps = [with_number(best, name, factor * value) for factor in (LESS, MORE)]
            best = max([best, *steps], key=lambda setting: objective(measured, names, setting))
        if best == before:
            break
    return best


def report(measured: Mapping[str, Measured]) -> list[Figure]:
    """Print the numbers chosen without each set and on all sets, and what they give, and return these figures."""
    whole = choose(measured, [*measured])
    print(f"{'left out':<16}" + "".join(f"{name[:10]:>11}" for name in NUMBERS), flush=True)
    figures: list[Figure] = []
    chosen = {}
    for name in measured:
        chosen[name] = choose(measured, [other for other in measured if other != name])
        print(f"{name:<16}{describe(chosen[name])}", flush=True)
    print(f"{'none':<16}{describe(whole)}\n{'present':<16}{describe(PRESENT)}")
    print(f"\n{'chosen on':<16}" + "".join(f"{row:>12}" for row in RIVALS) + "   worst loss of the first three")
    rows: dict[str, dict[str, float]] = {}
    for name, each in measured.items():
        rivals = dict(zip(RIVALS, (chosen[name], whole, PRESENT, PLAIN, BM25(), Vector()), strict=True))
        rows[name] = {row: each.mean(strategy) for row, strategy in rivals.items()}
        losses = {row: each.worst_loss(rivals[row]) for row in RIVALS[:3]}
        print(
            f"{name:<16}"
            + "".join(f"{value:>12.3f}" for value in rows[name].values())
            + "   "
            + ", ".join(f"{max(0.0, loss):.3f}" for loss in losses.values())
        )
        part = f"{name}, left out"
        figures += [Figure(row, value, part=part) for row, value in rows[name].items()]
        figures += [Figure(f"worst loss, {row}", loss, part=part) for row, loss in losses.items()]
    means = {row: fmean(each[row] for each in rows.values()) for row in RIVALS}
    print(f"{'mean':<16}" + "".join(f"{value:>12.3f}" for value in means.values()))
    part = "mean of the sets"
    figures += [Figure(row, value, part=part) for row, value in means.items()]
    figures += [Figure(f"chosen: {name}", number_of(whole, name), part="all") for name in NUMBERS]
    present, best = (objective(measured, [*measured], each) for each in (PRESENT, whole))
    return figures + print_figures(
        [
            Figure("without it, less before", means["without it"] - means["before"], ">=", -LESS_THAN_BEFORE, part),
            Figure("present less chosen on all, by which it is chosen", present - best, ">=", -NOT_BEST, part),
        ],
        decimals=3,
    )


def describe(setting: HybridWith) -> str:
    """The numbers of a setting, in columns."""
    return "".join(f"{number_of(setting, name):>11g}" for name in NUMBERS)


def report_other_embedders(folder: Path, sets: Sequence[str], count: int) -> list[Figure]:
    """Print the strategies' results with an embedder that is bad on purpose, and return them."""
    figures: list[Figure] = []
    for name in sets:
        documents, questions = load_documents(folder, name), evenly_spaced(load_questions(folder, name), count)
        texts = {document["id"]: document["text"] for document in documents}
        embedder = random_projection(texts.values())
        with index_of(documents, embedder=embedder) as index:
            ranked = rank(index, questions, RANKED, RANKED_LEAVES[name], name in WITHIN_REPORTS)
        found = {row: judge_words(questions, texts, each[BUDGETS[0]], is_page=False) for row, each in ranked.items()}
        print(f"\n{name}: {len(questions)} questions, {embedder.name}")
        print(f"{'words':<24}" + "".join(f"{words:>8}" for words in BUDGETS))
        for row, values in found.items():
            print(f"{row:<24}" + "".join(f"{value:>8.3f}" for value in values.values()), flush=True)
        part = f"{name}, {embedder.name}"
        figures += [
            Figure(f"{row}: {column}", value, part=part) for row, each in found.items() for column, value in each.items()
        ]
        figures += print_figures(
            [
                Figure(
                    f"Hybrid less the better of BM25 and Vector: {column}",
                    value - max(found["BM25"][column], found["Vector"][column]),
                    ">=",
                    -LESS_THAN_EITHER,
                    part,
                )
                for column, value in found["Hybrid"].items()
            ],
            decimals=3,
        )
    return figures


if __name__ == "__main__":
    sys.exit(main())
