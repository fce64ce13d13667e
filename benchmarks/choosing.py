"""How Hybrid's weights are chosen, and their results on question sets on which they were not chosen.

    python benchmarks/choosing.py --data FOLDER [--queries 100] [--json FILE]
    python benchmarks/choosing.py --data FOLDER --other-embedders [--queries 400] [--json FILE]

FOLDER holds a folder for each of the seven question sets: see ``build_data.py`` and ``quality.py``. For each set, the
weights are chosen on the other four and measured on the one left out, beside the defaults and beside Hybrid without
references, larger nodes and soft matches ("before"). Then they are chosen on all seven sets. The questions are not in
``quality.py``: other questions of squad and covidqa, and the training claims of scifact. hotpotqa and cranfield have no
other questions.

The figure of a set is its recall if all ranked leaves count (see ``quality.py``), as the mean over the budgets, or
nDCG@10. The best setting has the highest mean of the figures, less the worst loss beside the better of BM25 and Vector on
any set and budget, if that loss is above 0.01. First, a grid is tried in which the parent, the section and the document
have the same weight. From its best setting, each of the other weights in turn is tried one step lower and one step higher.

The optimum is flat. So the table also says how many of all tried settings are within 0.003 of the chosen one, and the
lowest and highest figures of these on the set left out.

``--other-embedders`` uses an embedder that is bad on purpose (``random_projection.py``). Hybrid must still keep up with
the better of BM25 and Vector.

Ends with 1 if a bound is missed, with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean

from quality import (
    DOCUMENT_SETS,
    LESS_THAN_BEFORE,
    LESS_THAN_EITHER,
    NDCG,
    PAGE_BUDGETS,
    PAGE_SETS,
    PLAIN,
    RANKED,
    RANKED_FOR_PAGES,
    RANKED_LEAVES,
    SETS,
    SPAN_SETS,
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

CHOSEN_ON = 100  # questions of each set
CANDIDATES = {
    **dict.fromkeys(SPAN_SETS, RANKED_LEAVES),
    **dict.fromkeys(DOCUMENT_SETS, 100),
    **dict.fromkeys(PAGE_SETS, RANKED_FOR_PAGES),
}  # as quality.py

SCALES = (0.0, 0.1, 0.2, 0.3, 0.5)
SOFT_MATCHES = (0.0, 0.25, 0.5, 0.75)
WORDS = (0.5, 0.55, 0.6, 0.7, 0.8)  # weight of BM25; the weight of vectors makes the sum 1
NEIGHBOURS = (0.3, 0.4, 0.5)
REFERENCES = (0.4, 0.6, 0.8)
COUNTED: Mapping[str, Callable[[Hybrid], float]] = {
    "parent": lambda setting: setting.scales[0],
    "section": lambda setting: setting.scales[1],
    "document": lambda setting: setting.scales[2],
    "soft matches": lambda setting: setting.soft_matches,
    "BM25": lambda setting: setting.weights[0],
    "neighbours": lambda setting: setting.neighbour_bonus,
    "references": lambda setting: setting.references,
}
RIVALS = ("chosen", "defaults", "before", "BM25", "Vector")
FLAT = 0.003
SHIPPED = Hybrid()
START = Hybrid(neighbour_bonus=0.4, references=0.6)
"""The weights that the grid does not change. They are not the defaults, so that the choice does not depend on these."""
NOT_BEST = 0.01  # the defaults may be this much worse than the best setting

Figures = Mapping[str, float]  # recall by budget, or nDCG@10


@dataclass(slots=True)
class Measured:
    """A question set, and the results of each setting.

    Attributes:
        judge: Function from the places of each question's passages to the figures.
        remembered: The index with the questions.
        found: The figures of each tried strategy.
    """

    judge: Callable[[Sequence[Sequence[Place]]], Figures]
    remembered: Remembered
    found: dict[Strategy, Figures] = field(default_factory=dict)

    def figures(self, strategy: Strategy) -> Figures:
        """The figures of a strategy."""
        if strategy not in self.found:
            self.found[strategy] = self.judge(self.remembered.rank(strategy))
        return self.found[strategy]

    def mean(self, strategy: Strategy) -> float:
        """Recall as the mean over the budgets, or nDCG@10."""
        return fmean(self.figures(strategy).values())

    def worst_loss(self, strategy: Strategy) -> float:
        """The largest lead of the better of BM25 and Vector at any budget; below 0 if it never leads."""
        words, vectors = self.figures(BM25()), self.figures(Vector())
        return max(max(words[name], vectors[name]) - value for name, value in self.figures(strategy).items())


def main() -> int:
    parser = argparse.ArgumentParser(description="How the weights of Hybrid are chosen.")
    add_data_option(parser, required=True)
    parser.add_argument("--queries", type=int, help=f"questions of each set: {CHOSEN_ON}, with other embedders {ASKED}")
    parser.add_argument(
        "--other-embedders", action="store_true", help="check Hybrid over an embedder that is bad on purpose"
    )
    add_json_option(parser)
    arguments = parser.parse_args()
    if problem := what_is_absent(arguments.data, SPAN_SETS if arguments.other_embedders else SETS):
        print(problem, file=sys.stderr)
        return 2
    if arguments.other_embedders:
        figures = report_other_embedders(arguments.data, arguments.queries or ASKED)
    else:
        with ExitStack() as stack:
            figures = report(measure(arguments.data, arguments.queries or CHOSEN_ON, stack))
    write_results("choosing", arguments, figures)
    return int(not all_passed(figures))


def measure(folder: Path, count: int, stack: ExitStack) -> dict[str, Measured]:
    """The question sets, each with an index that lasts as long as the stack."""
    measured = {}
    for name in SETS:
        documents, questions = load_documents(folder, name), questions_to_choose_on(folder, name, count)
        texts = {document["id"]: document["text"] for document in documents}
        index = stack.enter_context(index_of(documents, tree=False))
        remembered = Remembered(index, [each["text"] for each in questions], CANDIDATES[name])
        if name in PAGE_SETS:
            judge = judge_pages(questions, texts)
        else:
            judge = judge_documents(questions) if name in DOCUMENT_SETS else judge_spans(questions, texts)
        measured[name] = Measured(judge, remembered)
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


def judge_spans(questions: Questions, texts: Mapping[str, str]) -> Callable[[Sequence[Sequence[Place]]], Figures]:
    """Make a function that returns the recall for each budget."""
    return lambda rows: {f"{words} words": span_recall(rows, questions, texts, words) for words in BUDGETS}


def judge_pages(questions: Questions, texts: Mapping[str, str]) -> Callable[[Sequence[Sequence[Place]]], Figures]:
    """Make a function that returns the share of questions whose page is reached within each budget."""
    return lambda rows: {f"{words} words": fmean(pages_reached(rows, questions, texts, words)) for words in PAGE_BUDGETS}


def judge_documents(questions: Questions) -> Callable[[Sequence[Sequence[Place]]], Figures]:
    """Make a function that returns the nDCG@10 of documents, ranked by their best passage."""

    def judge(rows: Sequence[Sequence[Place]]) -> Figures:
        ranked = [list(dict.fromkeys(document_id for document_id, _, _ in row)) for row in rows]
        return {NDCG: fmean(map(ndcg, ranked, (each["relevant"] for each in questions)))}

    return judge


def grid() -> Iterator[Hybrid]:
    """Settings with the same weight for the parent, the section and the document."""
    for words in WORDS:
        for scale in SCALES:
            for soft in SOFT_MATCHES if scale else (0.0,):  # soft matches need larger nodes
                yield replace(START, weights=weights(words), scales=(scale, scale, scale), soft_matches=soft)


def with_other_scale(setting: Hybrid, place: int) -> list[Hybrid]:
    """The setting with the next lower and the next higher weight of the parent, of the section or of the document."""
    before, scale, after = setting.scales[:place], setting.scales[place], setting.scales[place + 1 :]
    return [replace(setting, scales=(*before, other, *after)) for other in beside(scale, SCALES)]


def with_other_neighbours(setting: Hybrid) -> list[Hybrid]:
    """The setting with the next lower and the next higher bonus for neighbours."""
    return [replace(setting, neighbour_bonus=other) for other in beside(setting.neighbour_bonus, NEIGHBOURS)]


def with_other_references(setting: Hybrid) -> list[Hybrid]:
    """The setting with the next lower and the next higher share for references."""
    return [replace(setting, references=other) for other in beside(setting.references, REFERENCES)]


STEPS: Sequence[Callable[[Hybrid], Sequence[Hybrid]]] = (
    *(partial(with_other_scale, place=place) for place in range(3)),
    with_other_neighbours,
    with_other_references,
)


def weights(words: float) -> tuple[float, float]:
    """The weights of BM25 and of vectors."""
    return words, round(1 - words, 6)


def beside(value: float, values: Sequence[float]) -> list[float]:
    """The next lower and the next higher of sorted values."""
    return [*[each for each in values if each < value][-1:], *[each for each in values if each > value][:1]]


def objective(measured: Mapping[str, Measured], names: Sequence[str], setting: Strategy) -> float:
    """The value by which settings are compared: the mean of the sets' figures, less the worst loss if it is above 0.01."""
    worst = max(measured[name].worst_loss(setting) for name in names)
    return fmean(measured[name].mean(setting) for name in names) - (worst if worst > LESS_THAN_EITHER else 0.0)


def choose(measured: Mapping[str, Measured], names: Sequence[str], tried: dict[Hybrid, None]) -> Hybrid:
    """The best setting for some sets; of equal ones, the first. Tried settings are added to ``tried``."""

    def value(setting: Hybrid) -> float:
        tried[setting] = None
        return objective(measured, names, setting)

    best = max(grid(), key=value)
    for step in STEPS:
        best = max([best, *step(best)], key=value)
    return best


def report(measured: Mapping[str, Measured]) -> list[Figure]:
    """Print the choices without each set and with all sets, and return them."""
    tried: dict[Hybrid, None] = {}
    chosen = {left_out: choose(measured, others(left_out), tried) for left_out in SETS}
    best = choose(measured, SETS, tried)
    print(f"{'':<12}{'parent, section,':<18}{'soft':<10}{'weights of BM25':<17}")
    print(
        f"{'left out':<12}{'document':<18}{'matches':<10}{'and vectors':<17}{'neighbours':<12}{'references':<12}"
        + "".join(f"{each:>10}" for each in RIVALS)
        + "   as good, and what they give"
    )
    figures: list[Figure] = []
    for name in SETS:
        values = {row: measured[name].mean(each) for row, each in rivals(chosen[name]).items()}
        as_good = settings_as_good(tried, measured, others(name), chosen[name])
        given = [measured[name].mean(each) for each in as_good]
        print(
            f"{name:<12}{describe(chosen[name])}"
            + "".join(f"{value:>10.3f}" for value in values.values())
            + f"   {len(as_good)} of {len(tried)}, {min(given):.3f} to {max(given):.3f}",
            flush=True,
        )
        part = f"{name}, left out"
        figures += [Figure(row, value, part=part) for row, value in values.items()]
        figures.append(Figure("chosen less before", values["chosen"] - values["before"], ">=", -LESS_THAN_BEFORE, part))
    means = {row: fmean(each.value for each in figures if each.name == row) for row in RIVALS}
    print(f"{'mean':<81}" + "".join(f"{value:>10.3f}" for value in means.values()))
    print(f"{'none':<12}{describe(best)}\n{'the default':<12}{describe(SHIPPED)}")
    figures += [Figure(row, value, part="mean of the sets left out") for row, value in means.items()]
    return print_figures([*figures, *report_all(measured, best, tried)], decimals=3)


def report_all(measured: Mapping[str, Measured], best: Hybrid, tried: Iterable[Hybrid]) -> list[Figure]:
    """Print the results of the settings that are chosen on all sets, and how many are as good, and return them."""
    part = "all"
    print(f"\n{'chosen on all':<24}" + "".join(f"{row:>10}" for row in RIVALS))
    figures: list[Figure] = []
    for name in SETS:
        for column in measured[name].figures(best):
            values = {row: measured[name].figures(each)[column] for row, each in rivals(best).items()}
            print(f"{f'{name}, {column}':<24}" + "".join(f"{value:>10.3f}" for value in values.values()))
            figures += [Figure(f"{row}: {name}, {column}", value, part=part) for row, value in values.items()]
    values = {row: objective(measured, SETS, each) for row, each in rivals(best).items()}
    print(f"{'by which it is chosen':<24}" + "".join(f"{value:>10.3f}" for value in values.values()))
    as_good = settings_as_good(tried, measured, SETS, best)
    count = len(list(tried))
    print(f"\n{len(as_good)} of {count} settings are within {FLAT} of the best one. How many of them have each value:")
    for label, values_of in COUNTED.items():
        counts = Counter(map(values_of, as_good))
        print(f"  {label:<12}" + ", ".join(f"{value:g}: {number}" for value, number in sorted(counts.items())))
    return [
        *figures,
        *(Figure(f"{row}: by which it is chosen", value, part=part) for row, value in values.items()),
        Figure("settings that were tried", count, part=part),
        Figure(f"settings within {FLAT} of the best", len(as_good), part=part),
        Figure(
            "the defaults less the best, by which it is chosen",
            values["defaults"] - values["chosen"],
            ">=",
            -NOT_BEST,
            part,
        ),
    ]


def rivals(chosen: Hybrid) -> dict[str, Strategy]:
    """The columns of the tables."""
    return dict(zip(RIVALS, (chosen, SHIPPED, PLAIN, BM25(), Vector()), strict=True))


def others(left_out: str) -> list[str]:
    """The sets without one of them."""
    return [name for name in SETS if name != left_out]


def settings_as_good(
    tried: Iterable[Hybrid], measured: Mapping[str, Measured], names: Sequence[str], best: Hybrid
) -> list[Hybrid]:
    """The settings within 0.003 of the best one."""
    least = objective(measured, names, best) - FLAT
    return [each for each in tried if objective(measured, names, each) >= least]


def describe(setting: Hybrid) -> str:
    """The weights of a setting, in columns."""
    scales, pair = (", ".join(f"{each:g}" for each in row) for row in (setting.scales, setting.weights))
    return f"{scales:<18}{setting.soft_matches:<10g}{pair:<17}{setting.neighbour_bonus:<12g}{setting.references:<12g}"


def report_other_embedders(folder: Path, count: int) -> list[Figure]:
    """Print the strategies' results with an embedder that is bad on purpose, and return them."""
    figures: list[Figure] = []
    for name in SPAN_SETS:
        documents, questions = load_documents(folder, name), evenly_spaced(load_questions(folder, name), count)
        texts = {document["id"]: document["text"] for document in documents}
        judge = judge_spans(questions, texts)
        embedder = random_projection(texts.values())
        with index_of(documents, tree=False, embedder=embedder) as index:
            found = {row: judge(places[BUDGETS[0]]) for row, places in rank(index, questions, RANKED).items()}
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
