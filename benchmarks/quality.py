"""Retrieval quality: what the strategies find, beside their targets and beside a peer.

    python benchmarks/quality.py --data FOLDER [--set squad] [--queries 400] [--peer] [--json FILE]

FOLDER holds a folder for each question set: see ``build_data.py``. Four sets that it does not make, hotpotqa,
long_documents, filings and cranfield, are measured if they exist. Every strategy runs with its public defaults.
``choosing.py`` shows how good the defaults of ``Hybrid`` are, on other questions than the 400 here, except for hotpotqa and
cranfield, which are too small for that. The defaults of the splitter and of the strategies over vectors were chosen on the
questions in even positions, so that the figures of both halves are printed, too.

On squad, covidqa, hotpotqa and long_documents the measure is span recall (see ``span_recall.py``). A question of hotpotqa
needs spans of two documents. There are two ways to fill a number of words:

- A user's call, ``index.retrieve(text, strategy, budget=words)``, which leaves out a leaf that does not fit whole. It
  measures all strategies.
- All ranked leaves count, and the leaf at the end of the words is cut. ``Hybrid`` has bounds for this measure: absolute
  ones, beside BM25 and vectors, and beside its earlier results.

On filings, reports full of tables, the measure is the share of questions for which a passage reaches the page with the
evidence within the number of words, over all reports and within the right one. On scifact (its test claims) and cranfield
the measure is nDCG@10 of documents, ranked by their best passage.

The benchmark prints what ``Hybrid`` gains by references, larger nodes and soft matches, for each strategy that uses it: the
figure before (``Hybrid`` without them and with its weights at that time), the figure after, and the difference with its
95 % confidence interval (a paired bootstrap over the questions).

Ends with 1 if a strategy misses its target, or is worse than its peer, a search that it consists of, or its earlier result;
with 2 if there is no data.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean

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
    HierarchicalSplitter,
    Hybrid,
    Index,
    ParentDocument,
    Passage,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Vector,
)
from leafspan.lab import Evaluation

Recall = Mapping[int, float]  # by budget in words
Scores = Mapping[str, Mapping[str, Sequence[float]]]  # of each question, by strategy and by measure

SPAN_SETS, DOCUMENT_SETS = ("squad", "covidqa", "hotpotqa", "long_documents"), ("scifact", "cranfield")
PAGE_SETS = ("filings",)
SETS = (*SPAN_SETS, *PAGE_SETS, *DOCUMENT_SETS)
NOT_MADE = ("hotpotqa", "long_documents", "filings", "cranfield")  # by build_data.py
PAGE_BUDGETS = (300, 600, 1_200, 2_400)
RANKED_FOR_PAGES = 150  # leaves; rows of tables make short ones
NDCG = "nDCG@10"
RANKED_LEAVES = 50  # more than 1,200 words
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
    "Hybrid, a bonus from summaries": Hybrid(summary_bonus=0.2),
    "ParentDocument": ParentDocument(),
    "SentenceWindow": SentenceWindow(),
    "AutoMerging": AutoMerging(),
    "RelevantSegments": RelevantSegments(),
}
SEGMENTS, FROM_ABOVE = "RelevantSegments", "Hybrid, a bonus from summaries"
PLAIN = Hybrid(weights=(0.7, 0.3), neighbour_bonus=0.4, references=0, scales=(0, 0, 0), soft_matches=0)
"""Hybrid with only BM25, vectors and neighbours, and with its default weights at that time."""
OVER_PLAIN: dict[str, Strategy] = {  # by the name of the strategy that is compared with it
    "Hybrid": PLAIN,
    "ParentDocument": ParentDocument(base=PLAIN),
    "SentenceWindow": SentenceWindow(base=PLAIN),
    "AutoMerging": AutoMerging(base=PLAIN),
    SEGMENTS: RelevantSegments(base=PLAIN),
}
BEFORE: dict[str, Strategy] = {f"{row}, before": strategy for row, strategy in OVER_PLAIN.items()}
LESS_THAN_BEFORE, LESS_THAN_EITHER = 0.005, 0.01
"""How much worse Hybrid may be than its earlier results, and than the better of its two searches."""
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
NO_WORSE = {  # than the strategy named, at these budgets, by more than this
    SEGMENTS: ("Hybrid", (150, 300), 0.01),
    FROM_ABOVE: ("Hybrid", (150, 300, 600, 1200), 0.01),
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
            figures += report_documents(name, documents, questions)
            continue
        if name in PAGE_SETS:
            figures += report_pages(name, documents, questions)
            continue
        asked = evenly_spaced(questions, arguments.queries)
        with index_of(documents) as index:
            results, ranked = retrieve(index, asked), rank(index, asked, RANKED)
        if arguments.peer:
            peers = retrieve_with_llamaindex(documents, asked)
            results |= {row: dict.fromkeys(BUDGETS, places) for row, places in peers.items()}
        texts = {document["id"]: document["text"] for document in documents}
        figures += report(name, asked, {row: scores_of(each, asked, texts) for row, each in results.items()})
        figures += report_ranked(name, asked, {row: scores_of(each, asked, texts) for row, each in ranked.items()})
    write_results("quality", arguments, figures)
    return int(not all_passed(figures))


@contextmanager
def index_of(documents: Documents, *, tree: bool = True, embedder: Embedder | str | None = None) -> Iterator[Index]:
    """An index of the documents that exists as long as the block.

    Args:
        documents: The documents.
        tree: Whether it has a tree. Default: True.
        embedder: The embedder. Default: the bundled one.
    """
    with tempfile.TemporaryDirectory() as folder, Index.open(folder, embedder=embedder) as index:
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        if tree:
            index.build_tree(progress=False)
        yield index


def places_of(rows: Sequence[Sequence[Passage]]) -> Results:
    """The places of each question's passages."""
    return [[(passage.document_id, passage.start, passage.end) for passage in row] for row in rows]


def retrieve(index: Index, questions: Questions) -> dict[str, Mapping[int, Results]]:
    """The passages of every strategy for each budget, in a user's call."""
    texts = [question["text"] for question in questions]
    return {
        name: {budget: places_of(index.retrieve_many(texts, strategy, budget=budget)) for budget in BUDGETS}
        for name, strategy in {**OVER_VECTORS, **STRATEGIES, **BEFORE}.items()
    }


def rank(index: Index, questions: Questions, strategies: Mapping[str, Strategy]) -> dict[str, Mapping[int, Results]]:
    """The best 50 leaves of some strategies, which are the same for each budget."""
    texts = [question["text"] for question in questions]
    return {
        name: dict.fromkeys(
            BUDGETS, places_of(index.retrieve_many(texts, strategy, k=RANKED_LEAVES, candidates=RANKED_LEAVES))
        )
        for name, strategy in strategies.items()
    }


def scores_of(results: Mapping[int, Results], questions: Questions, texts: Mapping[str, str]) -> dict[str, list[float]]:
    """1 for each question that is answered within a budget, and 0 for others."""
    return {
        f"{budget} words": list(map(float, answered_by(places, questions, texts, budget)))
        for budget, places in results.items()
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
        checks = {row: checks_of(table, name, row) for row in table} if part == "all" else {}
        print(f"\n{name}, {part}: {len(asked)} questions, a user's call")
        figures += print_table(f"{name}, {part}", table, checks, tuple(before))
        figures += [check for row in checks.values() for check in row]
    return figures + before_and_after(f"{name}, a user's call", questions, scores)


def print_table(
    part: str, table: Mapping[str, Recall], checks: Mapping[str, Sequence[Figure]], measured_before: Sequence[str] = ()
) -> list[Figure]:
    """Print a line for each row of a table, with the verdict on its bounds, and return its figures."""
    figures = []
    print(f"{'words':<36}" + "".join(f"{budget:>8}" for budget in BUDGETS) + f"{'mean':>8}")
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
    targets = {f"{budget} words": least for budget, least in RANKED_TARGETS[name].items()}
    return [
        *print_table(part, table, {}),
        *before_and_after(part, questions, scores),
        *bounds_of_hybrid(part, scores, targets),
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


def bounds_of_hybrid(part: str, scores: Scores, targets: Mapping[str, float]) -> list[Figure]:
    """Print whether Hybrid reaches its targets and keeps up with its parts, and return the bounds."""
    print(f"\n{part}: bounds of Hybrid")
    means = {row: {measure: fmean(values) for measure, values in each.items()} for row, each in scores.items()}
    hybrid, before = means["Hybrid"], means["Hybrid, before"]
    figures = [Figure(f"Hybrid: {measure}", hybrid[measure], ">=", least, part) for measure, least in targets.items()]
    for measure, value in hybrid.items():
        less = value - max(means["BM25"][measure], means["Vector"][measure])
        figures += [
            Figure(f"Hybrid less the better of BM25 and Vector: {measure}", less, ">=", -LESS_THAN_EITHER, part),
            Figure(f"Hybrid less before: {measure}", value - before[measure], ">=", -LESS_THAN_BEFORE, part),
        ]
    return print_figures(figures, decimals=3)


def checks_of(table: Mapping[str, Recall], name: str, row: str) -> list[Figure]:
    """The bounds of a strategy: its targets, another strategy, or its peer. Empty if it has no bounds."""
    if name in NOT_MADE:
        return []
    recall, part = table[row], f"{name}, targets"
    checks = [
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


def report_documents(name: str, documents: Documents, questions: Questions) -> list[Figure]:
    """Print nDCG@10 of documents, and return it."""
    asked = [question for question in questions if question.get("split", "test") == "test"]
    scores: dict[str, dict[str, Sequence[float]]] = {}
    strategies: dict[str, Strategy] = {"Vector": Vector(), **STRATEGIES, "Hybrid, before": PLAIN}
    with index_of(documents) as index:
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


def report_pages(name: str, documents: Documents, questions: Questions) -> list[Figure]:
    """Print how soon passages reach the page with the evidence, over all reports and within the right one."""
    strategies = {"Vector": Vector(), "BM25": BM25(), "Hybrid": Hybrid(), SEGMENTS: RelevantSegments()}
    texts = {document["id"]: document["text"] for document in documents}
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, Index.open(folder) as index:
        given = [Document(each["id"], each["text"], each["title"], {"report": each["id"]}) for each in documents]
        index.add(given, progress=False)
        for part, within in ((f"{name}, all reports", False), (f"{name}, within the right one", True)):
            print(f"\n{part}: {len(questions)} questions")
            print(f"{'words':<36}" + "".join(f"{budget:>8}" for budget in PAGE_BUDGETS) + f"{'mean':>8}")
            table: dict[str, list[float]] = {}
            for row, strategy in strategies.items():
                table[row] = []
                for budget in PAGE_BUDGETS:
                    wheres = [{"report": each["scope_doc"]} if within else None for each in questions]
                    found = [
                        index.retrieve(each["text"], strategy, budget=budget, where=where)
                        for each, where in zip(questions, wheres, strict=True)
                    ]
                    table[row].append(fmean(pages_reached(places_of(found), questions, texts, budget)))
                shares = [*table[row], fmean(table[row])]
                print(f"{row:<36}" + "".join(f"{share:>8.3f}" for share in shares))
                columns = [*(f"{budget} words" for budget in PAGE_BUDGETS), "mean"]
                figures += [
                    Figure(f"{row}: {column}", share, part=part) for column, share in zip(columns, shares, strict=True)
                ]
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
