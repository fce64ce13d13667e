"""How far the probabilities of Hybrid can be relied on, and the numbers that they are made with.

    python benchmarks/calibration.py --data FOLDER [--fit]

FOLDER holds ``span_recall.py`` and a folder for each set with its corpus and questions. An index of each set is asked its
own questions and as many of the other two sets, of which its documents say nothing: foreign ones. A leaf is right where it
overlaps an answer, so no leaf is for a foreign question. The questions are not those that the numbers were fitted on: of
squad and covidqa the 400 evenly spaced ones that ``quality.py`` asks, of scifact the test claims that have a rationale.

Printed, as Markdown: how well leaves and questions are told apart, how far probabilities are off, and what thresholds do.
``--fit`` fits the numbers of ``leafspan.scoring._calibration`` by maximum likelihood instead, and prints them beside those in use:
on at most 700 questions a set that are not among those, with as many foreign ones, each set weighing the same.

Ends with 1 where a bound is missed, with 2 where there is no data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from quality import index_of, load_metric

from leafspan import BM25, Hybrid, Index
from leafspan.scoring import LeafId, answer_probability, neighbour_bonuses, probability, total_weight
from leafspan.scoring._calibration import ABSENCE, COVERAGE, DOUBT, SHARPNESS
from leafspan.strategies import LexicalSearch, RetrievalContext, VectorSearch
from leafspan.strategies._requests import StrategyFlow
from leafspan.values import Candidate, Query

Questions = Sequence[Mapping[str, Any]]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SETS = ("squad", "covidqa", "scifact")
ASKED = 400
MOST_FITTED = 700  # questions a set
BATCH = 100
PLAIN = Hybrid(calibrate=False)
EVERY_LEAF = 10_000  # more than two legs and the neighbours of what they find
LEAST = 0.01  # leaves below are nearly all there are, and would make any mean look good
LEAF_BINS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, inf)
TENTHS = (*(tenth / 10 for tenth in range(10)), inf)
MIN_SCORES = (0.02, 0.05, 0.1, 0.2)
MIN_ANSWERABLE = (0.3, 0.5, 0.7)
KEEPING = "foreign without a result / own with a right leaf / own with any"
NUMBERS = {"SHARPNESS": SHARPNESS, "ABSENCE": ABSENCE, "COVERAGE": COVERAGE, "DOUBT": DOUBT}
BOUNDS: dict[str, tuple[str, float]] = {  # of each set, its own and foreign questions together
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
class Asked:
    """What one question found: ``fused`` are the scores of all leaves that Hybrid weighs.

    ``right``: whether they hold the answer. ``there``: whether they exist, for Hybrid also weighs the place behind the end
    of a document. ``share``: the best BM25 score as a share of the ideal one.
    """

    own: bool
    fused: Floats
    right: Flags
    there: Flags
    share: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One question with probabilities: of the leaves that exist, and that there is an answer."""

    own: bool
    predicted: Floats
    right: Flags
    answer_probability: float

    @property
    def best(self) -> int:
        """The place of the leaf that comes first."""
        return int(self.predicted.argmax())


class EveryLeaf:
    """Like Hybrid without calibration, but all leaves come back that its legs find at their depths, and those beside."""

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy: Hybrid is told to return everything, its legs to find no more than ever."""
        asking = PLAIN.retrieve(queries, replace(context, candidates=EVERY_LEAF))
        of_words, of_vectors = PLAIN.depth  # type: ignore[misc]
        answer: Any = None
        while True:
            try:
                request = asking.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            match request:
                case (VectorSearch() as near, LexicalSearch() as words):
                    request = replace(near, count=of_vectors), replace(words, count=of_words)
            answer = yield request


def main() -> int:
    parser = argparse.ArgumentParser(description="How far the probabilities of Hybrid can be relied on.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of span_recall.py and the sets")
    parser.add_argument("--fit", action="store_true", help="fit the numbers, on other questions")
    arguments = parser.parse_args()
    wanted = [arguments.data / "span_recall.py", *(arguments.data / name / "corpus.jsonl" for name in SETS)]
    absent = [str(path) for path in wanted if not path.is_file()]
    if absent:
        print(f"--data must be the folder of the retrieval data, but there is no {', '.join(absent)}", file=sys.stderr)
        return 2
    metric = load_metric(wanted[0])
    choose = questions_to_fit if arguments.fit else questions_to_judge
    asked = ask_all(metric, {name: choose(metric, name) for name in SETS})
    if arguments.fit:
        report_fit(asked)
        return 0
    return 0 if report({name: [judge(each) for each in rows] for name, rows in asked.items()}) else 1


def questions_to_judge(metric: Any, name: str) -> Questions:
    """The questions that no number was fitted on."""
    if name == "scifact":
        return [each for each in metric.load(name, None)[1] if each["split"] == "test" and each.get("answers")]
    return metric.load(name, ASKED)[1]  # type: ignore[no-any-return]


def questions_to_fit(metric: Any, name: str) -> Questions:
    """Questions that are not judged."""
    every = metric.load(name, None)[1]
    if name == "scifact":
        left = [each for each in every if each["split"] == "train" and each.get("answers")]
    else:
        judged = {each["id"] for each in questions_to_judge(metric, name)}
        left = [each for each in every if each["id"] not in judged]
    return evenly(left, MOST_FITTED)


def evenly(questions: Questions, count: int) -> Questions:
    """At most ``count`` of them, evenly spaced."""
    count = min(count, len(questions))
    return [questions[i * len(questions) // count] for i in range(count)]


def ask_all(metric: Any, questions: Mapping[str, Questions]) -> dict[str, list[Asked]]:
    """What each set finds for its own questions and for as many of the others."""
    found = {}
    for name, own in questions.items():
        half = (len(own) + 1) // 2
        foreign = [each for other in questions if other != name for each in evenly(questions[other], half)]
        with index_of(metric.load(name, None)[0]) as index:
            found[name] = [*ask(index, own, own=True), *ask(index, foreign, own=False)]
    return found


def ask(index: Index, questions: Questions, *, own: bool) -> Iterator[Asked]:
    for first in range(0, len(questions), BATCH):
        batch = questions[first : first + BATCH]
        texts = [question["text"] for question in batch]
        best = index.retrieve(texts, BM25(k=1, scale=True), k=1)
        rows = index.retrieve(texts, EveryLeaf(), k=EVERY_LEAF)
        for question, row, top in zip(batch, rows, best, strict=True):
            answers = question["answers"] if own else []
            right, found = {}, {}
            for passage in row:
                fused = passage.trace.fused[0]
                place: LeafId = (passage.document_id, "", fused.first)
                right[place] = any(
                    answer["doc_id"] == passage.document_id
                    and passage.start < answer["end"]
                    and passage.end > answer["start"]
                    for answer in answers
                )
                if fused.parts:
                    found[place] = fused.score - fused.neighbour
            # The bonuses anew, since those of places behind the end of a document did not come back.
            scores = {
                place: found.get(place, 0.0) + bonus
                for place, bonus in neighbour_bonuses(found, PLAIN.neighbour_bonus).items()
            }
            yield Asked(
                own,
                np.array(list(scores.values())),
                np.array([right.get(place, False) for place in scores]),
                np.array([place in right for place in scores]),
                top[0].score if top else 0.0,
            )


def judge(asked: Asked) -> Judged:
    """The probabilities as Hybrid gives them."""
    total = total_weight(asked.fused.tolist(), asked.share)
    predicted = np.array([probability(score, total) for score in asked.fused.tolist()])
    return Judged(asked.own, predicted[asked.there], asked.right[asked.there], answer_probability(asked.share, total))


def report(judged: Mapping[str, Sequence[Judged]]) -> bool:
    """Print the tables; True where no bound is missed."""
    print("| questions | number | log loss of leaves, in 1/1000 | of a constant | AUC of leaves", end="")
    print(" | calibration error of leaves | of the best leaf |\n|---|---|---|---|---|---|---|")
    figures: dict[str, dict[str, float]] = {}
    parts: dict[str, Sequence[Judged]] = {}
    for name, rows in judged.items():
        for part, chosen in ((name, [each for each in rows if each.own]), (f"{name} and foreign", rows)):
            parts[part] = chosen
            predicted, right = leaves_of(chosen)
            best = np.array([each.predicted[each.best] for each in chosen])
            best_right = np.array([each.right[each.best] for each in chosen])
            loss, constant = log_loss(predicted, right), log_loss(np.full(len(right), right.mean()), right)
            figures[name] = {
                "log loss as a share of a constant's": loss / constant,
                "AUC of leaves": area_under_curve(predicted, right),
                "calibration error of leaves": calibration_error(*at_least(LEAST, predicted, right), LEAF_BINS),
                "calibration error of the best leaf": calibration_error(best, best_right, TENTHS),
            }
            _, *rest = figures[name].values()
            columns = [
                f"{len(chosen):,}",
                f"{1000 * loss:.2f}",
                f"{1000 * constant:.2f}",
                *(f"{each:.3f}" for each in rest),
            ]
            print(f"| {part} | {' | '.join(columns)} |")

    title = "leaves: predicted, observed (number)"
    print_bins(title, {part: leaves_of(rows) for part, rows in parts.items()}, LEAF_BINS)
    by_question = {
        name: (answerable_of(rows), np.array([has_answer(each) for each in rows])) for name, rows in judged.items()
    }
    title = "questions, own and foreign: answerable, an answer was among the leaves (number)"
    print_bins(title, {**by_question, "all": all_together(by_question)}, TENTHS)

    print(f"\n| | {' | '.join(judged)} |\n|---|{'---|' * len(judged)}")
    for name, rows in judged.items():
        own = np.array([each.own for each in rows])
        figures[name] |= {
            "AUC of answerable": area_under_curve(answerable_of(rows), own),
            "calibration error of answerable": calibration_error(*by_question[name], TENTHS),
        }
    for row in ("AUC of answerable", "calibration error of answerable"):
        print(f"| {row} | {' | '.join(f'{figures[name][row]:.3f}' for name in judged)} |")
    for option, thresholds in (("min_score", MIN_SCORES), ("min_answer_probability", MIN_ANSWERABLE)):
        for least in thresholds:
            kept = {name: keeping(rows, option, least) for name, rows in judged.items()}
            cells = [" / ".join(f"{each:.2f}" for each in shares) for shares in kept.values()]
            print(f"| `{option}={least}`: {KEEPING} | {' | '.join(cells)} |")
            if (option, least) == ("min_answer_probability", 0.5):
                for name, (dropped, _, any_kept) in kept.items():
                    figures[name]["own questions kept at min_answer_probability 0.5"] = any_kept
                    figures[name]["foreign questions dropped at min_answer_probability 0.5"] = dropped
    return verdict(figures)


def verdict(figures: Mapping[str, Mapping[str, float]]) -> bool:
    """Print one line; True where every set keeps to every bound."""
    missed = [
        f"{name}: {row} is {figures[name][row]:.3f}, must be {sign} {bound}"
        for row, (sign, bound) in BOUNDS.items()
        for name in figures
        if (figures[name][row] < bound if sign == ">=" else figures[name][row] > bound)
    ]
    bounds = ", ".join(f"{row} {sign} {bound}" for row, (sign, bound) in BOUNDS.items())
    print(f"\nFAIL ({'; '.join(missed)})" if missed else f"\nPASS (each set, own and foreign: {bounds})")
    return not missed


def print_bins(title: str, parts: Mapping[str, tuple[Floats, Flags]], edges: Sequence[float]) -> None:
    print(f"\n| {title} | {' | '.join(parts)} |\n|---|{'---|' * len(parts)}")
    for low, high in pairwise(edges):
        cells = []
        for predicted, right in parts.values():
            within = (predicted >= low) & (predicted < high)
            mean = f"{predicted[within].mean():.3f}, {right[within].mean():.3f} ({within.sum():,})" if within.any() else ""
            cells.append(mean)
        print(f"| {low} to {1 if high == inf else high} | {' | '.join(cells)} |")


def keeping(rows: Sequence[Judged], option: str, least: float) -> tuple[float, float, float]:
    """Shares of foreign questions left without a result, of own ones with an answer that keep it, and with any result.

    An answer that was not among the leaves is not missed here: it was never there to be kept.
    """

    def kept(each: Judged) -> Flags:
        of_leaves = each.predicted >= least if option == "min_score" else np.full(len(each.right), each.answerable >= least)
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
    return np.array([each.answerable for each in rows])


def leaves_of(rows: Sequence[Judged]) -> tuple[Floats, Flags]:
    return all_together({i: (each.predicted, each.right) for i, each in enumerate(rows)})


def all_together(parts: Mapping[Any, tuple[Floats, Flags]]) -> tuple[Floats, Flags]:
    return np.concatenate([each for each, _ in parts.values()]), np.concatenate([each for _, each in parts.values()])


def at_least(least: float, predicted: Floats, right: Flags) -> tuple[Floats, Flags]:
    return predicted[predicted >= least], right[predicted >= least]


def log_loss(predicted: Floats, right: Flags) -> float:
    """Of each prediction alone, in nats."""
    certain = np.clip(predicted, 1e-12, 1 - 1e-12)
    return float(-np.where(right, np.log(certain), np.log1p(-certain)).mean())


def area_under_curve(scores: Floats, right: Flags) -> float:
    """The probability that a right one scores higher than a wrong one; a tie counts half (Mann and Whitney)."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    positive, negative = int(right.sum()), int((~right).sum())
    return float((ranks[right].sum() - positive * (positive + 1) / 2) / (positive * negative))


def calibration_error(predicted: Floats, right: Flags, edges: Sequence[float]) -> float:
    """Expected calibration error: the mean distance of predicted and observed, over bins, by how many are in each."""
    bins = np.digitize(predicted, edges)
    return float(sum(abs((predicted - right)[bins == each].sum()) for each in np.unique(bins)) / len(predicted))


def report_fit(asked: Mapping[str, Sequence[Asked]]) -> None:
    """Print the numbers that fit best, those in use, and how likely each make the questions."""
    likelihood = likelihood_of(asked)
    fitted = maximum(likelihood, start=np.array([5.0, 10.0, 15.0, 5.0]))
    in_use = np.array(list(NUMBERS.values()))
    print(f"{'':<12}{'fitted':>10}{'in use':>10}")
    for name, new, old in zip(NUMBERS, fitted, in_use, strict=True):
        print(f"{name:<12}{new:>10.2f}{old:>10.2f}")
    print(f"{'log loss':<12}{-likelihood(fitted)[0]:>10.4f}{-likelihood(in_use)[0]:>10.4f}  a question, of the three sets")


Likelihood = Callable[[Floats], tuple[float, Floats, Floats]]


def likelihood_of(asked: Mapping[str, Sequence[Asked]]) -> Likelihood:
    """The mean log likelihood of a question by the four numbers, with its gradient and the curvature to step by.

    What a question can come to are its leaves and two ways of there being no answer. The logarithm of the weight of each is
    linear in the numbers: what each counts with is a row of ``factors``.
    """
    blocks, true, sizes, weights = [], [], [], []
    for rows in asked.values():
        for each in rows:
            block = np.zeros((len(each.fused) + 2, len(NUMBERS)))
            block[:-2, 0] = each.fused
            block[-2, 1:3] = 1.0, -each.share
            block[-1, 3] = 1.0
            answered = bool(each.right.any())
            blocks.append(block)
            true.append(np.append(each.right, [not answered, not answered]))
            sizes.append(len(block))
            weights.append(1 / (len(asked) * len(rows)))
    factors, came_true, weight = np.concatenate(blocks), np.concatenate(true), np.array(weights)
    question = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum([0, *sizes[:-1]])

    def likelihood(numbers: Floats) -> tuple[float, Floats, Floats]:
        logits = factors @ numbers
        logits -= np.maximum.reduceat(logits, starts)[question]
        odds = np.exp(logits)
        total, true_total = np.add.reduceat(odds, starts), np.add.reduceat(odds * came_true, starts)
        expected = (odds / total[question])[:, None] * factors
        means = np.add.reduceat(expected, starts)
        true_means = np.add.reduceat((odds * came_true / true_total[question])[:, None] * factors, starts)
        curvature = (expected * weight[question][:, None]).T @ factors - (means * weight[:, None]).T @ means
        return float(weight @ np.log(true_total / total)), weight @ (true_means - means), curvature

    return likelihood


def maximum(likelihood: Likelihood, start: Floats) -> Floats:
    """The numbers of the highest likelihood: steps as of Newton's method, halved where they do not lead upwards.

    The curvature leaves out which of several outcomes came true, as in expectation maximisation, so that it never turns.
    """
    numbers = start
    value, gradient, curvature = likelihood(numbers)
    for _ in range(300):
        step = np.linalg.solve(curvature, gradient)
        while (after := likelihood(numbers + step))[0] < value and np.abs(step).max() > 1e-6:
            step /= 2
        if np.abs(step).max() < 1e-3:
            break
        numbers = numbers + step
        value, gradient, curvature = after
    return numbers


if __name__ == "__main__":
    sys.exit(main())
