"""Finding answers in several languages, with the defaults.

    python benchmarks/languages.py --data FOLDER [--languages en de tr ar zh th] [--queries 150] [--json FILE]

The folder has ``xquad``: paragraphs of Wikipedia and questions, the same in each language. A question is answered if the
span with its answer is among the first 1,800, or 5,400, characters of the passages. Nothing is said to the index about the
language.

Ends with 1 if a bound is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from question_sets import add_data_option, evenly_spaced, load_documents, load_questions, what_is_absent
from results import Figure, add_json_option, all_passed, print_figures, write_results

from leafspan import BM25, Document, Hybrid, Index, RelevantSegments, Vector

BUDGETS = (1_800, 5_400)  # characters
STRATEGIES = {"Vector": Vector(), "BM25": BM25(), "Hybrid": Hybrid(), "RelevantSegments": RelevantSegments()}
LEAST = {"en": 0.98, "de": 0.90, "tr": 0.90, "ar": 0.87, "zh": 0.92, "th": 0.80}
"""Share of questions that Hybrid must answer within the first budget."""


def share_answered(results: Sequence[Sequence[Any]], questions: Sequence[dict[str, Any]], budget: int) -> float:
    """The share of questions with an answer among the first characters."""
    pairs = zip(results, questions, strict=True)
    return sum(_is_answered(found, question["answers"], budget) for found, question in pairs) / len(questions)


def _is_answered(found: Sequence[Any], answers: Sequence[dict[str, Any]], budget: int) -> bool:
    read = 0
    for passage in found:
        end = passage.end if read + len(passage.text) <= budget else passage.start + budget - read
        for answer in answers:
            if passage.document_id == answer["doc_id"] and passage.start <= answer["start"] and answer["end"] <= end:
                return True
        read += len(passage.text)
        if read >= budget:
            break
    return False


def measure(folder: Path, language: str, count: int) -> Iterator[Figure]:
    """The figures of one language."""
    documents = load_documents(folder / "xquad", language)
    questions = evenly_spaced(load_questions(folder / "xquad", language), count)
    with tempfile.TemporaryDirectory() as place, Index.open(Path(place) / "kb", embedding_cache=False) as index:
        index.add([Document(each["id"], each["text"], title=each.get("title")) for each in documents], progress=False)
        for name, strategy in STRATEGIES.items():
            asked = [each["text"] for each in questions]
            results = index.retrieve_many(asked, strategy, k=40, candidates=200)
            for budget in BUDGETS:
                least = LEAST.get(language) if (name, budget) == ("Hybrid", BUDGETS[0]) else None
                value = share_answered(results, questions, budget)
                yield Figure(f"{name}, {budget} characters", value, None if least is None else ">=", least, language)


def main() -> int:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser, required=True)
    parser.add_argument("--languages", nargs="+", default=list(LEAST), help="languages (default: all)")
    parser.add_argument("--queries", type=int, default=150, help="questions of each language (default: 150)")
    add_json_option(parser)
    options = parser.parse_args()
    if absent := what_is_absent(options.data / "xquad", options.languages):
        print(absent)
        return 2
    figures: list[Figure] = []
    for language in options.languages:
        measured = list(measure(options.data, language, options.queries))
        by_name = "  ".join(f"{figure.name.split(',')[0]} {figure.value:.2f}" for figure in measured)
        print(f"{language}: {by_name}", flush=True)
        figures += measured
    print_figures(figures)
    write_results("languages", options, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
