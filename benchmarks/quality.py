"""Retrieval quality: what the strategies find, by span recall and nDCG, next to what they must and what a peer finds.

    python benchmarks/quality.py --data FOLDER [--set squad] [--queries 400] [--peer]

FOLDER holds ``span_recall.py``, the metric, and a folder for each set with its corpus and questions. Every strategy runs
with its public defaults. They were chosen on other questions than the 400 that are asked here: those of squad and covidqa
that are left, and the training claims of scifact; but for the defaults of the splitter and of the strategies over vectors,
which were chosen on the questions in even positions. So the halves are printed, too.

span recall: the share of questions whose answer lies in the first so many words retrieved. RelevantSegments is given each
budget. scifact: nDCG@10 of documents, ranked by their best passage, on the test claims.

Ends with 1 where a strategy falls short of its target or of its peer, with 2 where there is no data.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from llamaindex_peer import MERGING, WINDOWS, Results, retrieve_with_llamaindex

from leafspan import (
    BM25,
    AutoMerging,
    Document,
    HierarchicalSplitter,
    Hybrid,
    Index,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Vector,
)

Recall = Mapping[int, float]  # by budget in words

SPAN_SETS, DOCUMENT_SET = ("squad", "covidqa"), "scifact"
VECTOR_CANDIDATES = 24  # as many as LlamaIndex gets
CANDIDATES = 80  # so that it is the metric that cuts at each budget
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
}
SEGMENTS, FROM_ABOVE = "RelevantSegments", "Hybrid, a bonus from summaries"
PARTS = {"even half": slice(0, None, 2), "odd half": slice(1, None, 2), "all": slice(None)}

TARGETS: dict[str, dict[str, dict[int, float]]] = {
    "squad": {"Hybrid": {150: 0.86, 300: 0.92}, SEGMENTS: {600: 0.955, 1200: 0.97}},
    "covidqa": {"Hybrid": {300: 0.69, 600: 0.76}, SEGMENTS: {600: 0.77, 1200: 0.82}},
}
NO_WORSE = {  # than another at these budgets, by more than so much
    SEGMENTS: ("Hybrid", (150, 300), 0.01),
    FROM_ABOVE: ("Hybrid", (150, 300, 600, 1200), 0.01),
}
DOCUMENT_TARGETS = {"Hybrid": 0.69}
PEER_OF = {"SentenceWindow over Vector": WINDOWS, "AutoMerging over Vector": MERGING}
MEASURED_QUESTIONS = 400
MEASURED = {  # of LlamaIndex 0.14, with 24 chunks, on all 400 questions
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
    parser.add_argument("--data", type=Path, required=True, help="the folder of span_recall.py and the sets")
    parser.add_argument("--set", choices=[*SPAN_SETS, DOCUMENT_SET], action="append", help="one set; all by default")
    parser.add_argument("--queries", type=int, default=400, help="so many questions a set, evenly spaced")
    parser.add_argument("--peer", action="store_true", help="run LlamaIndex itself on the same questions")
    arguments = parser.parse_args()
    sets = list(dict.fromkeys(arguments.set or [*SPAN_SETS, DOCUMENT_SET]))
    wanted = [arguments.data / "span_recall.py", *(arguments.data / name / "corpus.jsonl" for name in sets)]
    absent = [str(path) for path in wanted if not path.is_file()]
    if absent:
        print(f"--data must be the folder of the retrieval data, but there is no {', '.join(absent)}", file=sys.stderr)
        return 2
    metric = load_metric(wanted[0])
    print(HierarchicalSplitter().describe())
    for strategy in [*OVER_VECTORS.values(), *STRATEGIES.values(), RelevantSegments()]:
        print(f"  {strategy}")
    passed = True
    for name in sets:
        if name == DOCUMENT_SET:
            passed &= report_documents(metric, name)
            continue
        documents, questions = metric.load(name, arguments.queries)
        results = retrieve(documents, questions, metric.BUDGETS)
        if arguments.peer:
            peers = retrieve_with_llamaindex(documents, questions)
            results |= {row: dict.fromkeys(metric.BUDGETS, places) for row, places in peers.items()}
        passed &= report(metric, name, documents, questions, results)
    return 0 if passed else 1


def load_metric(path: Path) -> Any:
    """The module of the metric, from its file."""
    spec = importlib.util.spec_from_file_location("span_recall", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def index_of(documents: Sequence[Mapping[str, Any]]) -> Iterator[Index]:
    """An index of the documents that lasts as long as the block."""
    with tempfile.TemporaryDirectory() as folder, Index.open(folder) as index:
        index.add([Document(each["id"], each["text"], each["title"]) for each in documents], progress=False)
        index.build_tree(progress=False)
        yield index


def retrieve(
    documents: Sequence[Mapping[str, Any]], questions: Sequence[Mapping[str, Any]], budgets: Sequence[int]
) -> dict[str, dict[int, Results]]:
    """The passages of every strategy for each budget; more of them than fit, so that it is the metric that cuts."""
    texts = [question["text"] for question in questions]
    with index_of(documents) as index:

        def places(strategy: Strategy, candidates: int) -> Results:
            rows = index.retrieve(texts, strategy, k=3 * candidates, candidates=candidates)
            return [[(passage.document_id, passage.start, passage.end) for passage in row] for row in rows]

        found = {}
        for name, strategy in OVER_VECTORS.items():
            found[name] = dict.fromkeys(budgets, places(strategy, VECTOR_CANDIDATES))
        for name, strategy in STRATEGIES.items():
            found[name] = dict.fromkeys(budgets, places(strategy, CANDIDATES))
        found[SEGMENTS] = {budget: places(RelevantSegments(words=budget), CANDIDATES) for budget in budgets}
        return found


def report(
    metric: Any,
    name: str,
    documents: Sequence[Mapping[str, Any]],
    questions: Sequence[Mapping[str, Any]],
    results: Mapping[str, Mapping[int, Results]],
) -> bool:
    """Print the tables of a set; True where nothing falls short on all questions."""
    texts = {document["id"]: document["text"] for document in documents}
    passed = True
    for part, chosen in PARTS.items():
        asked = questions[chosen]
        table: dict[str, Recall] = {
            row: {
                budget: metric.span_recall(places[chosen], asked, texts, [budget])[budget]
                for budget, places in by_budget.items()
            }
            for row, by_budget in results.items()
        }
        # The figures of the design are of all 400 questions; beside other questions they would say nothing.
        if not set(PEER_OF.values()) <= set(table) and len(asked) == MEASURED_QUESTIONS:
            table |= MEASURED[name]
        verdicts = {row: judge(table, name, row) for row in table} if part == "all" else {}
        print(f"\n{name}, {part}: {len(asked)} questions")
        print(f"{'within so many words':<36}" + "".join(f"{budget:>8}" for budget in metric.BUDGETS) + f"{'mean':>8}")
        for row, recall in table.items():
            figures = [*recall.values(), fmean(recall.values())]
            print(f"{row:<36}" + "".join(f"{figure:>8.3f}" for figure in figures) + f"  {verdicts.get(row, '')}".rstrip())
        passed &= not any(verdict.startswith("FAIL") for verdict in verdicts.values())
    return passed


def judge(table: Mapping[str, Recall], name: str, row: str) -> str:
    """PASS or FAIL against the row's targets, another row, or its peer; nothing where it has none."""
    recall = table[row]
    gaps = [recall[budget] - least for budget, least in TARGETS[name].get(row, {}).items()]
    if row in NO_WORSE:
        other, budgets, less = NO_WORSE[row]
        gaps += [recall[budget] - table[other][budget] + less for budget in budgets]
    if PEER_OF.get(row) in table:
        peer = table[PEER_OF[row]]
        mean = fmean(recall.values()) - fmean(peer.values())
        worst = min(recall[budget] - peer[budget] for budget in peer)
        verdict = "PASS" if mean > 0 and worst >= -TOLERANCE - 1e-9 else "FAIL"
        return f"{verdict} (mean {mean:+.3f}, worst {worst:+.3f} beside its peer)"
    if not gaps:
        return ""
    # Differences of shares are meant in whole thousandths, which are not exact in binary.
    return f"{'PASS' if min(gaps) >= -1e-9 else 'FAIL'} (by {min(gaps):+.3f})"


def report_documents(metric: Any, name: str) -> bool:
    """Print nDCG@10 of documents; True where it is what it must be, and hybrid search no worse than either of its legs."""
    documents, questions = metric.load(name, None)
    asked = [question for question in questions if question["split"] == "test"]
    figures = {}
    with index_of(documents) as index:
        for row, strategy in {"Vector": Vector(), **STRATEGIES}.items():
            found = index.retrieve([each["text"] for each in asked], strategy, k=100, candidates=100)
            ranked = [list(dict.fromkeys(passage.document_id for passage in passages)) for passages in found]
            figures[row] = fmean(map(ndcg, ranked, (each["relevant"] for each in asked)))
    targets = {**DOCUMENT_TARGETS, "Hybrid": max(DOCUMENT_TARGETS["Hybrid"], figures["Vector"], figures["BM25"])}
    print(f"\n{name}, test: {len(asked)} claims, nDCG@10 of documents by their best passage")
    for row, figure in figures.items():
        verdict = f"  {'PASS' if figure >= targets[row] else 'FAIL'} (target {targets[row]:.3f})" if row in targets else ""
        print(f"{row:<36}{figure:>8.3f}{verdict}")
    return all(figures[row] >= least for row, least in targets.items())


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain, with gains of 2 ** grade - 1."""
    gains = [(2 ** grades.get(document, 0) - 1) / math.log2(place + 2) for place, document in enumerate(ranked[:depth])]
    best = sorted(grades.values(), reverse=True)[:depth]
    return sum(gains) / sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(best))


if __name__ == "__main__":
    sys.exit(main())
