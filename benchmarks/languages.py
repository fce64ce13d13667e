"""Finding answers in several languages, with the defaults.

    python benchmarks/languages.py --data FOLDER [--languages en de tr ar zh th] [--queries 400] [--json FILE]

The folder has ``xquad``: paragraphs of Wikipedia and questions, the same in each language. A question is answered if the
span with its answer is among the first 1,800, or 5,400, characters of the passages. The index does not get the language as
an option.

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
LEAST = {"en": 0.98, "de": 0.92, "tr": 0.96, "ar": 0.92, "zh": 0.92, "th": 0.88}
"""Share of questions that Hybrid must answer within the first budget."""
MOST_LOST = 0.02
"""How much of that share may be lost in an index of all these languages."""


def share_answered(
    results: Sequence[Sequence[Any]], questions: Sequence[dict[str, Any]], language: str, budget: int
) -> float:
    """The share of questions with an answer among the first characters."""
    pairs = zip(results, questions, strict=True)
    return sum(_is_answered(found, question["answers"], language, budget) for found, question in pairs) / len(questions)


def _is_answered(found: Sequence[Any], answers: Sequence[dict[str, Any]], language: str, budget: int) -> bool:
    read = 0
    for passage in found:
        end = passage.end if read + len(passage.text) <= budget else passage.start + budget - read
        for answer in answers:
            same = passage.document_id == f"{language}/{answer['doc_id']}"
            if same and passage.start <= answer["start"] and answer["end"] <= end:
                return True
        read += len(passage.text)
        if read >= budget:
            break
    return False


def measure(folder: Path, language: str, count: int) -> Iterator[Figure]:
    """The figures of one language."""
    with tempfile.TemporaryDirectory() as place, Index.open(Path(place) / "kb", embedding_cache=False) as index:
        index.add(read_documents(folder, language), progress=False)
        for name, budget, value in ask(index, folder, language, count):
            least = LEAST.get(language) if (name, budget) == ("Hybrid", BUDGETS[0]) else None
            yield Figure(f"{name}, {budget} characters", value, None if least is None else ">=", least, language)


def measure_mixed(folder: Path, languages: Sequence[str], count: int, alone: Sequence[Figure]) -> Iterator[Figure]:
    """Measure each language in one index that has all languages. The bound is the figure of the language's own index."""
    by_name = {(figure.name, figure.part): figure.value for figure in alone}
    with tempfile.TemporaryDirectory() as place, Index.open(Path(place) / "kb", embedding_cache=False) as index:
        for language in languages:
            index.add(read_documents(folder, language), progress=False)
        for language in languages:
            for strategy, budget, value in ask(index, folder, language, count):
                name = f"{strategy}, {budget} characters"
                bounded = name == f"Hybrid, {BUDGETS[0]} characters"
                least = round(by_name[name, language] - MOST_LOST, 4) if bounded else None
                yield Figure(name, value, ">=" if bounded else None, least, f"{language} in an index of all")


def read_documents(folder: Path, language: str) -> list[Document]:
    """The documents of a language, with ids that differ between languages."""
    documents = load_documents(folder / "xquad", language)
    return [Document(f"{language}/{each['id']}", each["text"], title=each.get("title")) for each in documents]


def ask(index: Index, folder: Path, language: str, count: int) -> Iterator[tuple[str, int, float]]:
    """The share of questions that each strategy answers within each budget."""
    questions = evenly_spaced(load_questions(folder / "xquad", language), count)
    for name, strategy in STRATEGIES.items():
        results = index.retrieve_many([each["text"] for each in questions], strategy, k=40, candidates=200)
        for budget in BUDGETS:
            yield name, budget, share_answered(results, questions, language, budget)


def _shown(measured: Iterator[Figure]) -> list[Figure]:
    figures = list(measured)
    for group in dict.fromkeys(figure.part for figure in figures):
        of_group = [figure for figure in figures if figure.part == group]
        by_name = "  ".join(f"{figure.name.split(',')[0]} {figure.value:.2f}" for figure in of_group)
        print(f"{group}: {by_name}", flush=True)
    return figures


def main() -> int:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser, required=True)
    parser.add_argument("--languages", nargs="+", default=list(LEAST), help="languages (default: all)")
    parser.add_argument("--queries", type=int, default=400, help="questions of each language (default: 400)")
    add_json_option(parser)
    options = parser.parse_args()
    if absent := what_is_absent(options.data / "xquad", options.languages):
        print(absent)
        return 2
    figures: list[Figure] = []
    for language in options.languages:
        figures += _shown(measure(options.data, language, options.queries))
    if len(options.languages) > 1:
        figures += _shown(measure_mixed(options.data, options.languages, options.queries, figures))
    print_figures(figures)
    write_results("languages", options, figures)
    return int(not all_passed(figures))


if __name__ == "__main__":
    sys.exit(main())
