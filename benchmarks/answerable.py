"""Whether an index has an answer at all, for indexes of any size and several languages; and the fit of the formula.

    python benchmarks/answerable.py --data FOLDER [--embedder NAME] [--fit | --near-misses] [--json FILE]

FOLDER holds a folder for each question set: see ``build_data.py``. Of each set, the command makes indexes of about 10, 40,
150 and 600 leaves, and one of all documents. Each index gets questions that it can answer, and foreign questions. In
English, foreign questions come from other sets; in other languages, they are about documents that were left out. For each
index, the command prints how well the probabilities separate the two kinds (AUC), and the shares of questions that
``Hybrid(min_answer_probability=0.5)`` keeps and refuses.

Before them come near misses: squad's questions that no document answers, though a document is about their subject
(``unanswerable.jsonl``). The command prints the share of them that is refused, and the share of answerable questions that
is kept, at 0.5 and at thresholds from ``leafspan.lab.choose_threshold``. Half of the answerable questions choose the
threshold, the other half measures it. ``--near-misses`` measures only these, and needs only squad.

Then come the twelve rules of a company, each a document of one sentence, in German and in English.

With ``--fit``, the numbers of ``leafspan.strategies.scoring`` are fitted by logistic regression, and printed beside the
current numbers. Each index has the same weight, and its own questions have the same weight as the foreign ones. Each set is
also left out once, and measured with the numbers that the other sets give.

Ends with 1 if a bound is missed, with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import fmean

import numpy as np
from calibration import area_under_curve
from hybrid_parts import pools_of
from numpy.typing import NDArray
from question_sets import (
    ASKED,
    UNANSWERABLE,
    Documents,
    Questions,
    add_data_option,
    evenly_spaced,
    load_documents,
    load_questions,
    load_unanswerable,
    what_is_absent,
)
from results import Figure, add_json_option, all_passed, print_figures, write_results
from rules import FOREIGN, QUESTIONS, RULES

from leafspan import Document, Hybrid, Index
from leafspan.lab import Question, choose_threshold
from leafspan.strategies.scoring import COVERAGE, LEAST_SHARE, MANY, ODDS, SIZE

SETS = {
    "squad": "",
    "covidqa": "",
    "scifact": "",
    "hotpotqa": "",
    "tatqa": "",
    "en": "xquad",
    "de": "xquad",
    "tr": "xquad",
    "ar": "xquad",
    "zh": "xquad",
    "th": "xquad",
}
"""The sets, each with the folder that it is in."""
ENGLISH = ("squad", "covidqa", "scifact", "hotpotqa", "tatqa", "en")
SAME = {"squad": "en", "en": "squad"}  # both have paragraphs of Wikipedia with the same questions
MIXED = (("squad", "hotpotqa", "covidqa"), ("scifact",), ("long_documents", "filings", "annual_reports"))
"""The sets of one growing index about many subjects, in the order in which they are added."""
MIXED_OWN, MIXED_FOREIGN = ("squad", "hotpotqa", "covidqa", "scifact"), "cranfield"
LEAVES = (10, 40, 150, 600, 1_000_000)
MOST = 120  # own questions, and foreign questions, of an index
LEAST_OWN = 3
WORDS_A_LEAF = 30
LEAST_AUC, LEAST_KEPT, LEAST_REFUSED = 0.95, 0.85, 0.85  # means over the indexes
PROMISES = (0.8, 0.9, 0.95)  # shares of the answerable questions
CHANCE = 0.05  # the share of some questions may be this much below the mean, which is promised
LEAST_RULES = 10  # of the twelve, found and kept; one less must be first


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to an index.

    Attributes:
        name: The set.
        leaves: The number of leaves.
        own: Whether its answer is in the index.
        share: By how much the best parent's BM25 exceeds the mean of the others, as a share of the highest possible score.
        answer_probability: The probability that there is an answer.
    """

    name: str
    leaves: int
    own: bool
    share: float
    answer_probability: float

    @property
    def factors(self) -> list[float]:
        """The factors that the formula multiplies with its numbers."""
        return [1.0, log(self.share + LEAST_SHARE), -log(self.leaves / (1 + self.leaves / MANY))]


def part_of(documents: Documents, leaves: int, chance: random.Random) -> Documents:
    """Draw documents with about this number of leaves. The last document is cut at the end of a paragraph or sentence."""
    taken: list[dict[str, object]] = []
    words = 0
    for each in chance.sample(list(documents), len(documents)):
        left = leaves * WORDS_A_LEAF - words
        if left <= 0:
            break
        text, length = each["text"], len(each["text"].split())
        if length > 2 * left:
            near = int(len(text) * 1.3 * left / length)
            end = text.find("\n", near)
            text = text[: end if end > 0 else text.find(". ", near) + 1 or len(text)]
        taken.append({**each, "text": text})
        words += len(text.split())
    return taken  # type: ignore[return-value]


def questions_of(folder: Path, name: str, documents: Documents, chance: random.Random) -> tuple[Questions, Questions]:
    """The questions whose answers are in the documents, and foreign questions."""
    lengths = {each["id"]: len(each["text"]) for each in documents}
    every = [each for each in load_questions(folder / SETS[name], name) if each.get("answers")]
    own = [
        each
        for each in every
        if any(answer["doc_id"] in lengths and answer["end"] <= lengths[answer["doc_id"]] for answer in each["answers"])
    ]
    if name in ENGLISH:
        others = [other for other in ENGLISH if other not in (name, SAME.get(name))]
        foreign = [each for other in others for each in _some(load_questions(folder / SETS[other], other), 40, chance)]
    else:
        foreign = [each for each in every if not any(answer["doc_id"] in lengths for answer in each["answers"])]
    return _some(own, MOST, chance), _some(foreign, MOST, chance)


def _some(questions: Questions, count: int, chance: random.Random) -> Questions:
    return chance.sample(list(questions), min(count, len(questions)))


def ask_all(folder: Path, embedder: str | None) -> Iterator[Asked]:
    """The questions of all sets, to indexes of all sizes."""
    chance = random.Random(0)
    for name, parent in SETS.items():
        documents = load_documents(folder / parent, name)
        for leaves in LEAVES:
            some = part_of(documents, leaves, chance)
            own, foreign = questions_of(folder, name, some, chance)
            if len(own) < LEAST_OWN or not foreign:
                continue
            with tempfile.TemporaryDirectory() as place, Index.open(place, embedder=embedder) as index:
                index.add([Document(each["id"], each["text"], each.get("title")) for each in some], progress=False)
                yield from _ask(index, name, own, foreign)


def _ask(index: Index, name: str, own: Questions, foreign: Questions) -> Iterator[Asked]:
    leaves = index.stats().leaves
    for questions, is_own in ((own, True), (foreign, False)):
        for pool in pools_of(index, [each["text"] for each in questions]):
            yield Asked(name, leaves, is_own, pool._matches.words_found, pool.probability_of_an_answer)


def ask_mixed(folder: Path, embedder: str | None) -> Iterator[Asked]:
    """The questions of some sets, and foreign questions, to one index of many sets that grows."""
    chance = random.Random(1)
    foreign = _some(load_questions(folder, MIXED_FOREIGN), MOST, chance)
    there: list[str] = []
    with tempfile.TemporaryDirectory() as place, Index.open(place, embedder=embedder) as index:
        for sets in MIXED:
            for name in sets:
                documents = load_documents(folder, name)
                index.add(
                    [Document(f"{name}/{each['id']}", each["text"], each.get("title")) for each in documents],
                    progress=False,
                )
            there += [name for name in sets if name in MIXED_OWN]
            own = [each for name in there for each in load_questions(folder, name) if each.get("answers")]
            yield from _ask(index, "mixed", _some(own, 2 * MOST, chance), foreign)


def report(asked: Sequence[Asked]) -> Iterator[Figure]:
    """Print the probabilities for each index, and the means."""
    means: dict[str, list[float]] = {"AUC": [], "own kept at 0.5": [], "foreign refused at 0.5": []}
    print(f"{'':<12}{'leaves':>8}{'own':>6}{'AUC':>8}{'kept':>8}{'refused':>9}")
    for name, leaves in dict.fromkeys((each.name, each.leaves) for each in asked):
        rows = [each for each in asked if (each.name, each.leaves) == (name, leaves)]
        own = np.array([each.own for each in rows])
        found = np.array([each.answer_probability for each in rows])
        values = area_under_curve(found, own), float((found[own] >= 0.5).mean()), float((found[~own] < 0.5).mean())
        print(f"{name:<12}{leaves:>8,}{own.sum():>6}{values[0]:>8.3f}{values[1]:>8.2f}{values[2]:>9.2f}", flush=True)
        for (row, of_row), value in zip(means.items(), values, strict=True):
            of_row.append(value)
            yield Figure(row, value, part=f"{name}, {leaves:,} leaves")
    for (row, values_of_row), least in zip(means.items(), (LEAST_AUC, LEAST_KEPT, LEAST_REFUSED), strict=True):
        yield Figure(row, fmean(values_of_row), ">=", least, "mean")


def report_near_misses(folder: Path, embedder: str | None) -> Iterator[Figure]:
    """What thresholds keep of squad's answerable questions, and what they refuse of its near misses."""
    missed = evenly_spaced(load_unanswerable(folder, "squad"), ASKED)
    if not missed:
        print(
            f"\nnear misses are not measured: {folder / 'squad' / UNANSWERABLE} is absent. `build_data.py squad` makes it"
        )
        return
    asked = evenly_spaced(load_questions(folder, "squad"), 2 * ASKED)
    own = [
        Question(each["text"], relevant=[answer["doc_id"] for answer in each["answers"]], id=each["id"]) for each in asked
    ]
    choosing, others = own[::2], own[1::2]
    texts = [each.text for each in others], [each["text"] for each in missed]
    print(f"\n{f'near misses: {len(missed)}':<28}{'threshold':>10}{'kept':>8}{'refused':>9}")
    with tempfile.TemporaryDirectory() as place, Index.open(place, embedder=embedder) as index:
        documents = load_documents(folder, "squad")
        index.add([Document(each["id"], each["text"], each.get("title")) for each in documents], progress=False)
        for keep in (None, *PROMISES):
            promise = "without a promise" if keep is None else f"{keep} is promised"
            value = 0.5 if keep is None else choose_threshold(index, choosing, Hybrid(), keep=keep, progress=False).value
            strict = Hybrid(min_answer_probability=value)
            kept, left = (fmean(map(bool, index.retrieve_many(some, strict, k=1))) for some in texts)
            print(f"{promise:<28}{value:>10.3f}{kept:>8.3f}{1 - left:>9.3f}", flush=True)
            part = f"squad, near misses, {promise}"
            yield Figure("threshold", value, part=part)
            yield Figure("near misses refused", 1 - left, part=part)
            yield Figure("own kept", kept, None if keep is None else ">=", None if keep is None else keep - CHANCE, part)


def report_rules(embedder: str | None) -> Iterator[Figure]:
    """How many of the twelve rules are found first, how many are kept, and how many foreign questions are refused."""
    for language, rules in RULES.items():
        with tempfile.TemporaryDirectory() as place, Index.open(place, embedder=embedder) as index:
            index.add([Document(id_, text) for id_, text in rules.items()], progress=False)
            asked = list(QUESTIONS[language].values())
            first = sum(
                row[0].document_id == id_
                for id_, row in zip(QUESTIONS[language], index.retrieve_many(asked, Hybrid(), k=1), strict=True)
            )
            strict = Hybrid(min_answer_probability=0.5)
            kept = sum(map(bool, index.retrieve_many(asked, strict, k=1)))
            refused = sum(not row for row in index.retrieve_many(FOREIGN[language], strict, k=1))
        part = f"twelve rules, {language}"
        yield Figure("first", first, ">=", LEAST_RULES + 1, part)
        yield Figure("kept at 0.5", kept, ">=", LEAST_RULES, part)
        yield Figure("foreign refused at 0.5, of ten", refused, ">=", LEAST_RULES - 2, part)


def fitted(asked: Sequence[Asked]) -> NDArray[np.float64]:
    """Find the numbers with the highest likelihood, by Newton's method. A step that lowers the likelihood is halved."""
    factors, own = np.array([each.factors for each in asked]), np.array([each.own for each in asked])
    kinds = [(each.name, each.leaves, each.own) for each in asked]
    weights = np.array([1 / kinds.count(kind) for kind in kinds])

    def logits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return factors @ numbers  # type: ignore[no-any-return]

    def loss(numbers: NDArray[np.float64]) -> float:
        return float(weights @ np.logaddexp(0, np.where(own, -logits(numbers), logits(numbers))))

    numbers = np.array([0.0, 1.0, 0.0])
    for _ in range(100):
        said = 0.5 * (1 + np.tanh(logits(numbers) / 2))
        curvature = (factors * (weights * (said * (1 - said) + 1e-9))[:, None]).T @ factors
        step = np.linalg.solve(curvature, factors.T @ (weights * (own - said)))
        while loss(numbers + step) > loss(numbers) and np.abs(step).max() > 1e-9:
            step /= 2
        numbers = numbers + step
    return numbers


def report_fit(asked: Sequence[Asked]) -> Iterator[Figure]:
    """Print the fitted numbers beside the numbers in use. Then fit without each set, and measure that set."""
    in_use: Mapping[str, float] = {"ODDS": ODDS, "COVERAGE": COVERAGE, "SIZE": SIZE}
    for (name, old), new in zip(in_use.items(), fitted(asked), strict=True):
        print(f"{name:<12}fitted {new:>7.2f}   in use {old:>7.2f}")
        yield Figure(name, float(new), part="fitted")
    for left_out in dict.fromkeys(each.name for each in asked):
        numbers = fitted([each for each in asked if each.name != left_out])
        rows = [each for each in asked if each.name == left_out]
        said = np.array([each.factors for each in rows]) @ numbers > 0
        own = np.array([each.own for each in rows])
        kept, refused = float(said[own].mean()), float((~said[~own]).mean())
        shown = ", ".join(f"{each:.2f}" for each in numbers)
        print(f"{left_out:<12}left out: {shown}; kept {kept:.2f}, refused {refused:.2f}")
        yield Figure("own kept", kept, part=f"{left_out}, left out")
        yield Figure("foreign refused", refused, part=f"{left_out}, left out")


def main() -> int:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser, required=True)
    parser.add_argument("--embedder", help="the embedder (default: the bundled one)")
    more = parser.add_mutually_exclusive_group()
    more.add_argument("--fit", action="store_true", help="fit the numbers, too")
    more.add_argument("--near-misses", action="store_true", help="measure only near misses")
    add_json_option(parser)
    options = parser.parse_args()
    mixed = dict.fromkeys([name for sets in MIXED for name in sets] + [MIXED_FOREIGN], "")
    for name, folder in {"squad": ""}.items() if options.near_misses else (mixed | SETS).items():
        if absent := what_is_absent(options.data / folder, [name]):
            print(absent, file=sys.stderr)
            return 2
    figures = list(report_near_misses(options.data, options.embedder))
    if not options.near_misses:
        asked = [*ask_all(options.data, options.embedder), *ask_mixed(options.data, options.embedder)]
        figures += [*report(asked), *report_rules(options.embedder), *(report_fit(asked) if options.fit else ())]
    print_figures([each for each in figures if each.bound is not None])
    write_results("answerable", options, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
