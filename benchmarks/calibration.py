"""How reliable Hybrid's probabilities are. ``answerable.py`` shows how their numbers are fitted.

    python benchmarks/calibration.py --data FOLDER [--embedder NAME] [--json FILE]

FOLDER holds a folder for each question set: see ``build_data.py``. An index of each set gets the set's own questions, and
the same number of foreign questions from the other two sets, which its documents do not answer. A leaf is right if it
overlaps an answer, so no leaf is right for a foreign question. The questions of squad and covidqa are the 400 evenly spaced
ones of ``quality.py``, the questions of scifact the test claims that have a rationale.

Prints Markdown tables: how well the probabilities separate right leaves from wrong ones, and answerable questions from
others, how large their errors are, and the effect of thresholds. ``--embedder`` replaces the bundled embedder.

Ends with 1 if a bound is missed, with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from hybrid_parts import pools_of
from numpy.typing import NDArray
from quality import index_of
from question_sets import (
    ASKED,
    Questions,
    add_data_option,
    evenly_spaced,
    load_documents,
    load_questions,
    what_is_absent,
)
from results import Figure, Sign, add_json_option, all_passed, write_results

from leafspan import Index

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SETS = ("squad", "covidqa", "scifact")
BATCH = 100
EVERY_LEAF = 10_000  # more than all that Hybrid weighs
LEAST = 0.01  # nearly all leaves are below it, and would make any mean look good
LEAF_BINS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, inf)
FIRST_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, inf)
TENTHS = (*(tenth / 10 for tenth in range(10)), inf)
MIN_SCORES = (0.02, 0.05, 0.1, 0.2, 0.5, 0.7)
MIN_ANSWERABLE = (0.3, 0.5, 0.7)
KEEPING = "foreign without a result / own with a right leaf / own with any"
BOUNDS: dict[str, tuple[Sign, float]] = {  # for each set, its own and foreign questions together
    "log loss as a share of a constant's": ("<=", 0.75),
    "AUC of leaves": (">=", 0.94),
    "calibration error of leaves": ("<=", 0.06),
    "calibration error of the best leaf": ("<=", 0.10),
    "AUC of answerable": (">=", 0.88),
    "calibration error of answerable": ("<=", 0.10),
    "own questions kept at min_answer_probability 0.5": (">=", 0.80),
    "foreign questions dropped at min_answer_probability 0.5": (">=", 0.70),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The probabilities for one question.

    Attributes:
        own: Whether it is a question of the set that was asked.
        predicted: Probabilities of all leaves that Hybrid weighs.
        right: Whether each of them holds the answer.
        first: Whether both searches have it first.
        answer_probability: Probability that there is an answer.
    """

    own: bool
    predicted: Floats
    right: Flags
    first: Flags
    answer_probability: float

    @property
    def best(self) -> int:
        """The position of the best leaf."""
        return int(self.predicted.argmax())


def main() -> int:
    parser = argparse.ArgumentParser(description="How reliable the probabilities of Hybrid are.")
    add_data_option(parser, required=True)
    parser.add_argument("--embedder", help="the embedder (default: the bundled one)")
    add_json_option(parser)
    arguments = parser.parse_args()
    if problem := what_is_absent(arguments.data, SETS):
        print(problem, file=sys.stderr)
        return 2
    questions = {name: questions_to_judge(arguments.data, name) for name in SETS}
    figures = report(ask_all(arguments.data, questions, arguments.embedder))
    write_results("calibration", arguments, figures)
    return int(not all_passed(figures))


def questions_to_judge(data: Path, name: str) -> Questions:
    """The questions to ask about a set."""
    every = load_questions(data, name)
    if name == "scifact":
        return [each for each in every if each["split"] == "test" and each.get("answers")]
    return evenly_spaced(every, ASKED)


def ask_all(data: Path, questions: Mapping[str, Questions], embedder: str | None) -> dict[str, list[Judged]]:
    """The results of each set for its own questions, and for the same number of questions of the other sets."""
    found = {}
    for name, own in questions.items():
        half = (len(own) + 1) // 2
        foreign = [each for other in questions if other != name for each in evenly_spaced(questions[other], half)]
        with index_of(load_documents(data, name), embedder=embedder) as index:
            found[name] = [*ask(index, own, own=True), *ask(index, foreign, own=False)]
    return found


def ask(index: Index, questions: Questions, *, own: bool) -> Iterator[Judged]:
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        for question, pool in zip(batch, pools_of(index, [each["text"] for each in batch]), strict=True):
            right = {
                (answer["doc_id"], ordinal)
                for answer in (question["answers"] if own else ())
                for ordinal, leaf in enumerate(index.leaves(answer["doc_id"]))
                if leaf.start < answer["end"] and leaf.end > answer["start"]
            }
            found = pool.best(EVERY_LEAF, with_summaries=False)
            leaves = [each.leaf for each, _ in found]
            ranks = [
                {part.source: part.rank for part in fused.contributions}
                for fused in (pool.fused(each) for each, _ in found)
            ]
            yield Judged(
                own,
                np.array([probability for _, probability in found]),
                np.array([(leaf.document_id, leaf.ordinal) in right for leaf in leaves]),
                np.array([each.get("bm25") == each.get("vector") == 1 for each in ranks]),
                pool.probability_of_an_answer,
            )


def report(judged: Mapping[str, Sequence[Judged]]) -> list[Figure]:
    """Print the tables, and return their figures."""
    print("| questions | number | log loss of leaves, in 1/1000 | of a constant | AUC of leaves", end="")
    print(" | calibration error of leaves | of the best leaf |\n|---|---|---|---|---|---|---|")
    figures: list[Figure] = []
    measured: dict[str, dict[str, float]] = {}
    parts: dict[str, Sequence[Judged]] = {}
    for name, rows in judged.items():
        for part, chosen in ((name, [each for each in rows if each.own]), (f"{name} and foreign", rows)):
            parts[part] = chosen
            predicted, right = leaves_of(chosen)
            best = np.array([each.predicted[each.best] for each in chosen])
            best_right = np.array([each.right[each.best] for each in chosen])
            loss, constant = log_loss(predicted, right), log_loss(np.full(len(right), right.mean()), right)
            measured[name] = {
                "log loss as a share of a constant's": loss / constant,
                "AUC of leaves": area_under_curve(predicted, right),
                "calibration error of leaves": calibration_error(*at_least(LEAST, predicted, right), LEAF_BINS),
                "calibration error of the best leaf": calibration_error(best, best_right, TENTHS),
            }
            _, *rest = measured[name].values()
            columns = [
                f"{len(chosen):,}",
                f"{1000 * loss:.2f}",
                f"{1000 * constant:.2f}",
                *(f"{each:.3f}" for each in rest),
            ]
            print(f"| {part} | {' | '.join(columns)} |")
            figures += [Figure("questions", len(chosen), part=part), Figure("log loss of leaves", loss, part=part)]
            figures += [Figure("log loss of a constant", constant, part=part)]
            if part == name:  # the figures of own and foreign questions follow with their bounds
                figures += [Figure(row, value, part=part) for row, value in measured[name].items()]

    title = "leaves: predicted, observed (number)"
    figures += print_bins(title, {part: leaves_of(rows) for part, rows in parts.items()}, LEAF_BINS)
    firsts = {part: leaves_of(rows, first=True) for part, rows in parts.items() if part not in judged}
    title = "leaves that both searches have first: predicted, observed (number)"
    figures += print_bins(title, {**firsts, "all": all_together(firsts)}, FIRST_BINS)
    by_question = {
        name: (answerable_of(rows), np.array([has_answer(each) for each in rows])) for name, rows in judged.items()
    }
    title = "questions, own and foreign: answerable, an answer was among the leaves (number)"
    figures += print_bins(title, {**by_question, "all": all_together(by_question)}, TENTHS)

    print(f"\n| | {' | '.join(judged)} |\n|---|{'---|' * len(judged)}")
    for name, rows in judged.items():
        own = np.array([each.own for each in rows])
        measured[name] |= {
            "AUC of answerable": area_under_curve(answerable_of(rows), own),
            "calibration error of answerable": calibration_error(*by_question[name], TENTHS),
        }
    for row in ("AUC of answerable", "calibration error of answerable"):
        print(f"| {row} | {' | '.join(f'{measured[name][row]:.3f}' for name in judged)} |")
    for option, thresholds in (("min_score", MIN_SCORES), ("min_answer_probability", MIN_ANSWERABLE)):
        for least in thresholds:
            kept = {name: keeping(rows, option, least) for name, rows in judged.items()}
            cells = [" / ".join(f"{each:.2f}" for each in shares) for shares in kept.values()]
            print(f"| `{option}={least}`: {KEEPING} | {' | '.join(cells)} |")
            figures += [
                Figure(f"{option}={least}: {what}", share, part=f"{name} and foreign")
                for name, shares in kept.items()
                for what, share in zip(KEEPING.split(" / "), shares, strict=True)
            ]
            if (option, least) == ("min_answer_probability", 0.5):
                for name, (dropped, _, any_kept) in kept.items():
                    measured[name]["own questions kept at min_answer_probability 0.5"] = any_kept
                    measured[name]["foreign questions dropped at min_answer_probability 0.5"] = dropped
    return [*figures, *verdict(measured)]


def verdict(measured: Mapping[str, Mapping[str, float]]) -> list[Figure]:
    """Print whether every set keeps every bound, and return the figures with bounds."""
    figures = [
        Figure(row, measured[name][row], sign, bound, f"{name} and foreign")
        for row, (sign, bound) in BOUNDS.items()
        for name in measured
    ]
    missed = [
        f"{each.part.removesuffix(' and foreign')}: {each.name} is {each.value:.3f}, must be {each.sign} {each.bound}"
        for each in figures
        if not each.passed
    ]
    bounds = ", ".join(f"{row} {sign} {bound}" for row, (sign, bound) in BOUNDS.items())
    print(f"\nFAIL ({'; '.join(missed)})" if missed else f"\nPASS (each set, own and foreign: {bounds})")
    return figures


def print_bins(title: str, parts: Mapping[str, tuple[Floats, Flags]], edges: Sequence[float]) -> list[Figure]:
    """Print the predicted and observed values of each bin, and return them."""
    figures = []
    print(f"\n| {title} | {' | '.join(parts)} |\n|---|{'---|' * len(parts)}")
    for low, high in pairwise(edges):
        label = f"{low} to {1 if high == inf else high}"
        cells = []
        for part, (predicted, right) in parts.items():
            within = (predicted >= low) & (predicted < high)
            mean = f"{predicted[within].mean():.3f}, {right[within].mean():.3f} ({within.sum():,})" if within.any() else ""
            cells.append(mean)
            what = f"{title.partition(':')[0]} in the bin {label}"
            figures.append(Figure(f"{what}: number", int(within.sum()), part=part))
            if within.any():
                figures.append(Figure(f"{what}: mean predicted", float(predicted[within].mean()), part=part))
                figures.append(Figure(f"{what}: share observed", float(right[within].mean()), part=part))
        print(f"| {label} | {' | '.join(cells)} |")
    return figures


def keeping(rows: Sequence[Judged], option: str, least: float) -> tuple[float, float, float]:
    """The share of foreign questions without a result, of own ones that keep a right leaf, and of own ones with any result.

    The second share counts only questions with a right leaf among the results.
    """

    def kept(each: Judged) -> Flags:
        of_leaves = (
            each.predicted >= least if option == "min_score" else np.full(len(each.right), each.answer_probability >= least)
        )
        return np.asarray(of_leaves)

    own, foreign = [each for each in rows if each.own], [each for each in rows if not each.own]
    return (
        float(np.mean([not kept(each).any() for each in foreign])),
        float(np.mean([(kept(each) & each.right).any() for each in own if has_answer(each)])),
        float(np.mean([kept(each).any() for each in own])),
    )


def has_answer(judged: Judged) -> bool:
    return bool(judged.right.any())


def answerable_of(rows: Sequence[Judged]) -> Floats:
    return np.array([each.answer_probability for each in rows])


def leaves_of(rows: Sequence[Judged], *, first: bool = False) -> tuple[Floats, Flags]:
    kept = [each.first if first else np.ones(len(each.right), np.bool_) for each in rows]
    return all_together(
        {i: (row.predicted[mask], row.right[mask]) for i, (row, mask) in enumerate(zip(rows, kept, strict=True))}
    )


def all_together(parts: Mapping[Any, tuple[Floats, Flags]]) -> tuple[Floats, Flags]:
    return np.concatenate([each for each, _ in parts.values()]), np.concatenate([each for _, each in parts.values()])


def at_least(least: float, predicted: Floats, right: Flags) -> tuple[Floats, Flags]:
    return predicted[predicted >= least], right[predicted >= least]


def log_loss(predicted: Floats, right: Flags) -> float:
    """The mean log loss of a prediction, in nats."""
    certain = np.clip(predicted, 1e-12, 1 - 1e-12)
    return float(-np.where(right, np.log(certain), np.log1p(-certain)).mean())


def area_under_curve(scores: Floats, right: Flags) -> float:
    """The probability that a right leaf scores higher than a wrong one. A tie counts half (Mann and Whitney, 1947)."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    positive, negative = int(right.sum()), int((~right).sum())
    return float((ranks[right].sum() - positive * (positive + 1) / 2) / (positive * negative))


def calibration_error(predicted: Floats, right: Flags, edges: Sequence[float]) -> float:
    """Expected calibration error: the distance of predicted and observed values, weighted by the size of the bin."""
    bins = np.digitize(predicted, edges)
    return float(sum(abs((predicted - right)[bins == each].sum()) for each in np.unique(bins)) / len(predicted))


if __name__ == "__main__":
    sys.exit(main())
