"""Draws a small sample of public question sets, which the ratchet measures quality with.

    python benchmarks/draw_sample.py --data FOLDER

FOLDER has a folder for each set (see ``build_data.py``). A sample has some documents of the set, and questions whose
answers are all in them. The sample of xquad has six languages. benchmarks/sample/README.md names sources and licences.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

from question_sets import (
    Documents,
    Questions,
    add_data_option,
    evenly_spaced,
    load_documents,
    load_questions,
    what_is_absent,
)

SAMPLE = Path(__file__).parent / "sample"
SETS = {  # documents and questions
    "squad": (6, 60),
    "covidqa": (8, 60),
    "hotpotqa": (240, 40),
    "tatqa": (6, 60),
    "scifact": (150, 60),
}
LANGUAGES = ("ar", "de", "en", "th", "tr", "zh")
ARTICLES, ASKED = 4, 12  # of each language
FREE = "cc-by"  # the licence of the articles of covidqa that may be copied


def documents_of(question: Any) -> set[str]:
    """The ids of the documents that answer a question."""
    return {answer["doc_id"] for answer in question.get("answers", ())} | set(question.get("relevant", ()))


def sample_of(documents: Documents, questions: Questions, count: int, asked: int) -> tuple[Documents, Questions]:
    """Documents, and questions that they answer.

    The questions are drawn first if documents are short, since few of them answer a question; otherwise the documents.
    """
    documents = [document for document in documents if document.get("licence", FREE) == FREE]
    questions = [question for question in questions if question.get("split", "test") == "test" and documents_of(question)]
    if len(documents) > 2 * len(questions):
        questions = evenly_spaced(questions, asked)
        needed = set().union(*map(documents_of, questions))
        others = [document["id"] for document in documents if document["id"] not in needed]
        chosen = needed.union(evenly_spaced(others, count - len(needed)))
    else:
        chosen = {document["id"] for document in evenly_spaced(documents, count)}
        questions = evenly_spaced([question for question in questions if documents_of(question) <= chosen], asked)
    return [document for document in documents if document["id"] in chosen], questions


def kept(record: Any) -> dict[str, Any]:
    """What a sample keeps of a record. The place of an answer is enough, since the document has its text."""
    answers = [{key: answer[key] for key in ("doc_id", "start", "end")} for answer in record.get("answers", ())]
    relevant = record.get("relevant")
    plain = {key: record[key] for key in ("id", "title", "text", "answer_mode") if record.get(key)}
    return plain | ({"relevant": relevant} if relevant else {"answers": answers} if answers else {})


def write(name: str, documents: Documents, questions: Questions) -> None:
    """Write one sample: documents, then questions."""
    content = "".join(json.dumps(kept(each), ensure_ascii=False) + "\n" for each in [*documents, *questions])
    path = SAMPLE / f"{name}.jsonl.gz"
    path.write_bytes(gzip.compress(content.encode(), 9, mtime=0))
    print(f"{name}: {len(documents)} documents, {len(questions)} questions, {path.stat().st_size:,} bytes")


def in_language(record: Any, language: str) -> dict[str, Any]:
    """The record with ids that differ between languages."""
    answers = [answer | {"doc_id": f"{language}/{answer['doc_id']}"} for answer in record.get("answers", ())]
    return record | {"id": f"{language}/{record['id']}"} | ({"answers": answers} if answers else {})


def main() -> int:
    """Draw all samples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser, required=True)
    folder = parser.parse_args().data
    languages = [f"xquad/{language}" for language in LANGUAGES]
    if problem := what_is_absent(folder, [*SETS, *languages]):
        print(problem, file=sys.stderr)
        return 2
    SAMPLE.mkdir(exist_ok=True)
    for name, (count, asked) in SETS.items():
        write(name, *sample_of(load_documents(folder, name), load_questions(folder, name), count, asked))
    documents: list[Any] = []
    questions: list[Any] = []
    for language, name in zip(LANGUAGES, languages, strict=True):
        corpus = [in_language(record, language) for record in load_documents(folder, name)]
        queries = [in_language(record, language) for record in load_questions(folder, name)]
        some_documents, some_questions = sample_of(corpus, queries, ARTICLES, ASKED)
        documents += some_documents
        questions += some_questions
    write("xquad", documents, questions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
