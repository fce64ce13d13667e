"""Retrieval quality: what the strategies find, beside their targets and beside a peer.

    python benchmarks/quality.py --data FOLDER [--set squad] [--queries 400] [--embedder NAME] [--peer] [--json FILE]

FOLDER holds a folder for each question set: see ``build_data.py``. The sets that it does not make (``NOT_MADE``) are
measured if they exist. Every strategy runs with its public defaults. ``choosing.py`` shows how good the numbers of
``Hybrid`` are, where possible on other questions than here. The defaults of the splitter and of the strategies over vectors
were chosen on the questions in even positions, so that the figures of both halves are printed, too.

On squad, covidqa, hotpotqa, long_documents and tatqa the measure is span recall (see ``span_recall.py``). A question of
hotpotqa needs spans of two documents. A question of tatqa, reports with tables, is asked within its report. There are two
ways to fill a number of words:

- A user's call, ``index.retrieve(text, strategy, budget=words)``, which leaves out a leaf that does not fit whole. It
  measures all strategies. ``RelevantSegments`` has bounds for it, beside BM25 and vectors.
- All ranked leaves count, and the leaf at the end of the words is cut. ``Hybrid`` has bounds for this measure: absolute
  ones, beside BM25 and vectors, and beside its earlier results.

On filings and annual_reports, full of tables, the measure is the share of questions for which a passage reaches the page
with the evidence within the number of words, over all reports and within the right one. On scifact (its test claims) and
cranfield the measure is nDCG@10 of documents, ranked by their best passage.

The benchmark prints what ``Hybrid`` gains by references, larger nodes and soft matches, for each strategy that uses it: the
figure before (``Hybrid`` without them), the figure after, and the difference with its 95 % confidence interval (a paired
bootstrap over the questions).

Ends with 1 if a strategy misses its target, or is worse than its peer, a search that it consists of, or its earlier result;
with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean

from hybrid_parts import LEAVES_ALONE, HybridWith
from llamaindex_peer import MERGING, WINDOWS, Results, retrieve_with_llamaindex
from question_sets import (
    ASKED,
    Documents,
    Questions,
    add_data_option,
    evenly_spaced,
    load_documents,
    load_questions,
    what_is_absent,
)
from results import Figure, add_json_option, all_passed, print_figures, write_results
from span_recall import BUDGETS, answered_by, first_words

from leafspan import (
    BM25,
    AutoMerging,
    Document,
    Embedder,
    F,
    HierarchicalSplitter,
    Hybrid,
    Index,
    ParentDocument,
    Passage,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Vector,
    Where,
)
from leafspan.lab import Evaluation

Recall = Mapping[int, float]  # by budget in words
Scores = Mapping[str, Mapping[str, Sequence[float]]]  # of each question, by strategy and by measure

SPAN_SETS, DOCUMENT_SETS = ("squad", "covidqa", "hotpotqa", "long_documents", "tatqa"), ("scifact", "cranfield")
PAGE_SETS = ("filings", "annual_reports")
WITHIN_REPORTS = ("tatqa",)  # each question is asked within its report
SETS = (*SPAN_SETS, *PAGE_SETS, *DOCUMENT_SETS)
NOT_MADE = ("hotpotqa", "long_documents", "tatqa", "filings", "annual_reports", "cranfield")  # by build_data.py
PAGE_BUDGETS = (300, 600, 1_200, 2_400)
NDCG = "nDCG@10"
RANKED_LEAVES = {name: 150 if name in (*PAGE_SETS, *WITHIN_REPORTS) else 50 for name in (*SPAN_SETS, *PAGE_SETS)}
"""Number of leaves that have more words than the largest budget. Rows of tables make short leaves."""
TOLERANCE = 0.015
OVER_VECTORS: dict[str, Strategy] = {
    "Vector": Vector(),
    "ParentDocument over Vector": ParentDocument(base=Vector()),
    "SentenceWindow over Vector": SentenceWindow(base=Vector()),
    "AutoMerging over Vector": AutoMerging(base=Vector()),
}
STRATEGIES: dict[str, Strategy] = {
    "BM25": BM25(),
    "Hybrid": Hybrid(),
    "ParentDocument": ParentDocument(),
    "SentenceWindow": SentenceWindow(),
    "AutoMerging": AutoMerging(),
    "RelevantSegments": RelevantSegments(),
}
SEGMENTS = "RelevantSegments"
PLAIN = HybridWith(LEAVES_ALONE, Hybrid(references=0))
"""Hybrid with only BM25, vectors and neighbours."""
OVER_PLAIN: dict[str, Strategy] = {  # by the name of the strategy that is compared with it
    "Hybrid": PLAIN,
    "ParentDocument": ParentDocument(base=PLAIN),
    "SentenceWindow": SentenceWindow(base=PLAIN),
    "AutoMerging": AutoMerging(base=PLAIN),
    SEGMENTS: RelevantSegments(base=PLAIN),
}
BEFORE: dict[str, Strategy] = {f"{row}, before": strategy for row, strategy in OVER_PLAIN.items()}
LESS_THAN_BEFORE, LESS_THAN_EITHER = 0.005, 0.01
"""How much worse Hybrid may be than before, and than the better of its searches; RelevantSegments than the latter."""
RANKED: dict[str, Strategy] = {"Vector": Vector(), "BM25": BM25(), "Hybrid": Hybrid(), "Hybrid, before": PLAIN}
PARTS = {"even half": slice(0, None, 2), "odd half": slice(1, None, 2), "all": slice(None)}

TARGETS: dict[str, dict[str, dict[int, float]]] = {  # of a user's call
    "squad": {"Hybrid": {150: 0.86, 300: 0.92}, SEGMENTS: {600: 0.955, 1200: 0.97}},
    "covidqa": {"Hybrid": {300: 0.69, 600: 0.76}, SEGMENTS: {600: 0.77, 1200: 0.82}},
}
RANKED_TARGETS: dict[str, dict[int, float]] = {  # of Hybrid, if all ranked leaves count
    "squad": {150: 0.90, 300: 0.945},
    "covidqa": {300: 0.76, 600: 0.82},
    "hotpotqa": {150: 0.58, 300: 0.86, 600: 0.94},
    "long_documents": {150: 0.50, 300: 0.66, 600: 0.79},
}
RANKED_MEANS = {"long_documents": 0.74, "annual_reports": 0.56, "hotpotqa": 0.905}  # the same, over all budgets
NO_WORSE = {  # than the strategy named, at these budgets, by more than this
    SEGMENTS: ("Hybrid", (150, 300), 0.01),
}
DOCUMENT_TARGETS = {"scifact": 0.695, "cranfield": 0.535}  # of Hybrid, which also must not be worse than BM25 and Vector
PEER_OF = {"SentenceWindow over Vector": WINDOWS, "AutoMerging over Vector": MERGING}
MEASURED = {  # LlamaIndex 0.14, with 24 chunks, on all 400 questions
    "squad": {
        WINDOWS: {150: 0.62, 300: 0.75, 600: 0.83, 1200: 0.89},
        MERGING: {150: 0.67, 300: 0.79, 600: 0.87, 1200: 0.92},
    },
    "covidqa": {
        WINDOWS: {150: 0.38, 300: 0.47, 600: 0.56, 1200: 0.66},
        MERGING: {150: 0.40, 300: 0.50, 600: 0.56, 1200: 0.58},
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(description="What the strategies find.")
    add_data_option(parser, required=True)
    parser.add_argument("--set", choices=SETS, action="append", help="one set; all by default")
    parser.add_argument("--queries", type=int, default=ASKED, help="number of questions of each set, evenly spaced")
    parser.add_argument("--embedder", help="the embedder (default: the bundled one, for which the bounds are)")
    parser.add_argument("--peer", action="store_true", help="run LlamaIndex itself on the same questions")
    add_json_option(parser)
    arguments = parser.parse_args()
    there = [name for name in SETS if name not in NOT_MADE or (arguments.data / name).is_dir()]
    sets = list(dict.fromkeys(arguments.set or there))
    if problem := what_is_absent(arguments.data, sets):
        print(problem, file=sys.stderr)
        return 2
    print(HierarchicalSplitter().describe())
    for strategy in [*OVER_VECTORS.values(), *STRATEGIES.values()]:
        print(f"  {strategy}")
    figures: list[Figure] = []
    for name in sets:
        documents, questions = load_documents(arguments.data, name), load_questions(arguments.data, name)
        if name in DOCUMENT_SETS:
            figures += report_documents(name, documents, questions, arguments.embedder)
            continue
        if name in PAGE_SETS:
            figures += report_pages(name, documents, questions, arguments.embedder)
            continue
        asked = evenly_spaced(questions, arguments.queries)
        within = name in WITHIN_REPORTS
        with index_of(documents, embedder=arguments.embedder) as index:
            results = retrieve(index, asked, {**OVER_VECTORS, **STRATEGIES, **BEFORE}, BUDGETS, within)
            ranked = rank(index, asked, RANKED, RANKED_LEAVES[name], within)
        if arguments.peer:
            peers = retrieve_with_llamaindex(documents, asked)
            results |= {row: dict.fromkeys(BUDGETS, places) for row, places in peers.items()}
        texts = {document["id"]: document["text"] for document in documents}
        figures += report(name, asked, {row: scores_of(each, asked, texts) for row, each in results.items()})
        figures += report_ranked(name, asked, {row: scores_of(each, asked, texts) for row, each in ranked.items()})
    write_results("quality", arguments, figures)
    return int(not all_passed(figures))


@contextmanager
def index_of(documents: Documents, *, embedder: Embedder | str | None = None) -> Iterator[Index]:
    """An index of the documents that exists as long as the block. Default embedder: the bundled one."""
    with tempfile.TemporaryDirectory() as folder, Index.open(folder, embedder=embedder) as index:
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        yield index


def places_of(rows: Sequence[Sequence[Passage]]) -> Results:
    """The places of each question's passages."""
    return [[(passage.document_id, passage.start, passage.end) for passage in row] for row in rows]


def by_report(questions: Questions, within: bool) -> Iterator[tuple[Where | None, list[int]]]:
    """The numbers of the questions that are asked together, ``within`` one report, or without a filter."""
    reports = [question["scope_doc"] if within else None for question in questions]
    for report in dict.fromkeys(reports):
        numbers = [number for number, each in enumerate(reports) if each == report]
        yield None if report is None else F("doc_id") == report, numbers


def found_by(index: Index, questions: Questions, strategy: Strategy, within: bool, **options: int) -> Results:
    """The places that a strategy finds for each question."""
    found: dict[int, Sequence[Passage]] = {}
    for where, numbers in by_report(questions, within):
        texts = [questions[number]["text"] for number in numbers]
        found.update(zip(numbers, index.retrieve_many(texts, strategy, where=where, **options), strict=True))
    return places_of([found[number] for number in range(len(questions))])


def retrieve(
    index: Index, questions: Questions, strategies: Mapping[str, Strategy], budgets: Sequence[int], within: bool
) -> dict[str, Mapping[int, Results]]:
    """The passages of every strategy for each budget, in a user's call."""
    return {
        name: {budget: found_by(index, questions, strategy, within, budget=budget) for budget in budgets}
        for name, strategy in strategies.items()
    }


def rank(
    index: Index,
    questions: Questions,
    strategies: Mapping[str, Strategy],
    count: int,
    within: bool = False,
    budgets: Sequence[int] = BUDGETS,
) -> dict[str, Mapping[int, Results]]:
    """The best leaves of some strategies, which are the same for each budget."""
    return {
        name: dict.fromkeys(budgets, found_by(index, questions, strategy, within, k=count, candidates=count))
        for name, strategy in strategies.items()
    }


def scores_of(
    results: Mapping[int, Results],
    questions: Questions,
    texts: Mapping[str, str],
    judge: Callable[[Results, Questions, Mapping[str, str], int], Sequence[bool]] = answered_by,
) -> dict[str, list[float]]:
    """1 for each question that is answered within a budget, and 0 for others."""
    return {
        f"{budget} words": list(map(float, judge(places, questions, texts, budget))) for budget, places in results.items()
    }


def report(name: str, questions: Questions, scores: Scores) -> list[Figure]:
    """Print the tables of a set for a user's call, and return their figures."""
    figures: list[Figure] = []
    for part, chosen in PARTS.items():
        asked = questions[chosen]
        table: dict[str, Recall] = {
            row: {budget: fmean(scores[row][f"{budget} words"][chosen]) for budget in BUDGETS}
            for row in scores
            if row not in BEFORE
        }
        # The peer's figures are for all 400 questions, and cannot be compared with other questions.
        before = {} if set(PEER_OF.values()) <= set(table) or len(asked) != ASKED else MEASURED.get(name, {})
        table |= before
        checks = {row: checks_of(table, name, row, f"{name}, targets") for row in table} if part == "all" else {}
        print(f"\n{name}, {part}: {len(asked)} questions, a user's call")
        figures += print_table(f"{name}, {part}", table, checks, tuple(before))
        figures += [check for row in checks.values() for check in row]
    return figures + before_and_after(f"{name}, a user's call", questions, scores)


def print_table(
    part: str, table: Mapping[str, Recall], checks: Mapping[str, Sequence[Figure]], measured_before: Sequence[str] = ()
) -> list[Figure]:
    """Print a line for each row of a table, with the verdict on its bounds, and return its figures."""
    figures = []
    print(f"{'words':<36}" + "".join(f"{budget:>8}" for budget in next(iter(table.values()))) + f"{'mean':>8}")
    for row, recall in table.items():
        shares = [*recall.values(), fmean(recall.values())]
        verdict = verdict_on(row, checks.get(row, []))
        print(f"{row:<36}" + "".join(f"{share:>8.3f}" for share in shares) + f"  {verdict}".rstrip())
        label = f"{row}, measured before" if row in measured_before else row
        columns = [*(f"{budget} words" for budget in recall), "mean"]
        figures += [Figure(f"{label}: {column}", share, part=part) for column, share in zip(columns, shares, strict=True)]
    return figures


def report_ranked(name: str, questions: Questions, scores: Scores) -> list[Figure]:
    """Print Hybrid's results if all ranked leaves count, beside its bounds, and return them."""
    part = f"{name}, all ranked leaves"
    print(f"\n{part}: {len(questions)} questions")
    table = {row: {budget: fmean(each[f"{budget} words"]) for budget in BUDGETS} for row, each in scores.items()}
    targets = {f"{budget} words": least for budget, least in RANKED_TARGETS.get(name, {}).items()}
    return [
        *print_table(part, table, {}),
        *before_and_after(part, questions, scores),
        *bounds_of_hybrid(part, scores, targets, RANKED_MEANS.get(name)),
    ]


def before_and_after(part: str, questions: Questions, scores: Scores) -> list[Figure]:
    """Print what each strategy over Hybrid found before and finds now, and return the differences."""
    ids = {each["id"]: each["text"] for each in questions}
    evaluation = Evaluation(
        ids,
        BUDGETS,
        {
            row: {measure: dict(zip(ids, values, strict=True)) for measure, values in by_measure.items()}
            for row, by_measure in scores.items()
        },
    )
    print(f"\n{part}: without and with references, larger nodes and soft matches")
    print(f"{'':<36}{'before':>8}{'after':>8}{'':>8}  95 % interval")
    figures = []
    for row, measure in [(each, measure) for each in OVER_PLAIN for measure in scores.get(each, ())]:
        then = evaluation.mean(f"{row}, before", measure)
        found = evaluation.compare(row, f"{row}, before", measure)
        print(
            f"{row + ': ' + measure:<36}{then:>8.3f}{then + found.difference:>8.3f}{found.difference:>+8.3f}  "
            f"{found.low:+.3f} to {found.high:+.3f}"
        )
        figures += [
            Figure(f"{row}, before: {measure}", then, part=part),
            Figure(f"{row} less before: {measure}", found.difference, part=part, interval=(found.low, found.high)),
        ]
    return figures


def bounds_of_hybrid(
    part: str, scores: Scores, targets: Mapping[str, float], least_mean: float | None = None
) -> list[Figure]:
    """Print whether Hybrid reaches its targets and keeps up with its parts, and return the bounds."""
    print(f"\n{part}: bounds of Hybrid")
    means = {row: {measure: fmean(values) for measure, values in each.items()} for row, each in scores.items()}
    hybrid, before = means["Hybrid"], means.get("Hybrid, before", {})
    if least_mean is not None:
        hybrid, targets = {**hybrid, "mean": fmean(hybrid.values())}, {**targets, "mean": least_mean}
    figures = [Figure(f"Hybrid: {measure}", hybrid[measure], ">=", least, part) for measure, least in targets.items()]
    figures += [
        Figure(f"Hybrid less before: {measure}", hybrid[measure] - value, ">=", -LESS_THAN_BEFORE, part)
        for measure, value in before.items()
    ]
    return print_figures([*figures, *no_worse_than_either("Hybrid", means, part)], decimals=3)


def no_worse_than_either(row: str, means: Mapping[str, Mapping[str, float]], part: str) -> list[Figure]:
    """The bounds of a strategy beside the better of BM25 and vectors."""
    return [
        Figure(
            f"{row} less the better of BM25 and Vector: {measure}",
            value - max(means["BM25"][measure], means["Vector"][measure]),
            ">=",
            -LESS_THAN_EITHER,
            part,
        )
        for measure, value in means[row].items()
    ]


def checks_of(table: Mapping[str, Recall], name: str, row: str, part: str) -> list[Figure]:
    """The bounds of a strategy: its targets, other strategies, or its peer. Empty if it has no bounds."""
    recall = table[row]
    checks: list[Figure] = []
    if row == SEGMENTS:
        means = {each: {f"{budget} words": share for budget, share in table[each].items()} for each in table}
        checks = no_worse_than_either(row, means, part)
    if name in NOT_MADE:
        return checks
    checks += [
        Figure(f"{row}: {budget} words", recall[budget], ">=", least, part)
        for budget, least in TARGETS[name].get(row, {}).items()
    ]
    if row in NO_WORSE:
        other, budgets, less = NO_WORSE[row]
        checks += [
            Figure(f"{row} less {other}: {budget} words", recall[budget] - table[other][budget], ">=", -less, part)
            for budget in budgets
        ]
    if PEER_OF.get(row) in table:
        peer = table[PEER_OF[row]]
        mean = fmean(recall.values()) - fmean(peer.values())
        worst = min(recall[budget] - peer[budget] for budget in peer)
        checks += [
            Figure(f"{row} less {PEER_OF[row]}: mean", mean, ">", 0.0, part),
            Figure(f"{row} less {PEER_OF[row]}: worst", worst, ">=", -TOLERANCE, part),
        ]
    return checks


def verdict_on(row: str, checks: Sequence[Figure]) -> str:
    """PASS or FAIL, and by how much; empty without a bound."""
    if not checks:
        return ""
    verdict = "PASS" if all_passed(checks) else "FAIL"
    if row in PEER_OF:
        mean, worst = checks
        return f"{verdict} (mean {mean.value:+.3f}, worst {worst.value:+.3f} beside its peer)"
    return f"{verdict} (by {min(check.gap for check in checks if check.gap is not None):+.3f})"


def report_documents(name: str, documents: Documents, questions: Questions, embedder: str | None) -> list[Figure]:
    """Print nDCG@10 of documents, and return it."""
    asked = [question for question in questions if question.get("split", "test") == "test"]
    scores: dict[str, dict[str, Sequence[float]]] = {}
    strategies: dict[str, Strategy] = {"Vector": Vector(), **STRATEGIES, "Hybrid, before": PLAIN}
    with index_of(documents, embedder=embedder) as index:
        for row, strategy in strategies.items():
            rows = index.retrieve_many([each["text"] for each in asked], strategy, k=100, candidates=100)
            ranked = [list(dict.fromkeys(passage.document_id for passage in passages)) for passages in rows]
            scores[row] = {NDCG: list(map(ndcg, ranked, (each["relevant"] for each in asked)))}
    print(f"\n{name}, test: {len(asked)} questions, {NDCG} of documents by their best passage")
    figures = []
    means = {row: fmean(each[NDCG]) for row, each in scores.items()}
    for row in [row for row in strategies if row not in BEFORE]:
        print(f"{row:<36}{means[row]:>8.3f}")
        figures.append(Figure(f"{row}: {NDCG}", means[row], part=f"{name}, test"))
    compared = {row: scores[row] for row in ("Hybrid", "Hybrid, before")}
    targets = {NDCG: max(DOCUMENT_TARGETS[name], means["Vector"], means["BM25"])}
    return [
        *figures,
        *before_and_after(f"{name}, test", asked, compared),
        *bounds_of_hybrid(f"{name}, test", scores, targets),
    ]


def report_pages(name: str, documents: Documents, questions: Questions, embedder: str | None) -> list[Figure]:
    """Print how soon passages reach the page with the evidence, over all reports and within the right one."""
    strategies = {**RANKED, SEGMENTS: RelevantSegments()}
    texts = {document["id"]: document["text"] for document in documents}
    figures: list[Figure] = []
    with index_of(documents, embedder=embedder) as index:
        for where, within in (("all reports", False), ("within the right one", True)):
            part = f"{name}, {where}"
            results = retrieve(index, questions, strategies, PAGE_BUDGETS, within)
            ranked = rank(index, questions, RANKED, RANKED_LEAVES[name], within, PAGE_BUDGETS)
            for how, found in (("a user's call", results), ("all ranked leaves", ranked)):
                shown = f"{part}, {how}"
                scores = {row: scores_of(each, questions, texts, pages_reached) for row, each in found.items()}
                table = {
                    row: {budget: fmean(each[f"{budget} words"]) for budget in PAGE_BUDGETS} for row, each in scores.items()
                }
                print(f"\n{shown}: {len(questions)} questions")
                checks = {} if found is ranked else {row: checks_of(table, name, row, shown) for row in table}
                figures += print_table(shown, table, checks)
                figures += [check for row in checks.values() for check in row]
                if found is ranked:
                    del scores["Hybrid, before"]  # one question more or less would be more than the bound
                    figures += bounds_of_hybrid(shown, scores, {}, None if within else RANKED_MEANS.get(name))
    return figures


def pages_reached(results: Results, questions: Questions, texts: Mapping[str, str], budget: int) -> list[bool]:
    """Whether a passage of each question reaches a page with the evidence before the words are used up."""
    return [
        any(
            document_id == answer["doc_id"] and start < answer["end"] and end > answer["start"]
            for document_id, start, end in first_words(row, texts, budget)
            for answer in question["answers"]
        )
        for row, question in zip(results, questions, strict=True)
    ]


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain, with gains of 2 ** grade - 1."""
    gains = [(2 ** grades.get(document, 0) - 1) / math.log2(place + 2) for place, document in enumerate(ranked[:depth])]
    best = sorted(grades.values(), reverse=True)[:depth]
    return sum(gains) / sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(best))


if __name__ == "__main__":
    sys.exit(main())
