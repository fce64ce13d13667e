"""Draws a small sample of public question sets, which the ratchet measures quality with.

    python tools/sample.py FOLDER

FOLDER has a folder for each set (see ``benchmarks/build_data.py``), with ``corpus.jsonl`` and ``queries.jsonl``. A sample
has some documents of the set, and questions whose answers are all in these documents. The documents of xquad are the first
ones of six languages, in one sample. benchmarks/sample/README.md names sources and licences. Draw a sample again only in a
commit that also sets the limits of the ratchet again.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

SAMPLE = Path(__file__).parents[1] / "benchmarks" / "sample"
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

Records = Sequence[dict[str, Any]]
T = TypeVar("T")


def evenly_spaced(items: Sequence[T], count: int) -> list[T]:
    """At most ``count`` items, evenly spaced, starting with the first one."""
    return [items[number * len(items) // count] for number in range(min(count, len(items)))]


def documents_of(question: dict[str, Any]) -> set[str]:
    """The ids of the documents that answer a question."""
    return {answer["doc_id"] for answer in question.get("answers", ())} | set(question.get("relevant", ()))


def sample_of(documents: Records, questions: Records, count: int, asked: int) -> tuple[list[Any], list[Any]]:
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


def read(path: Path) -> Records:
    """The records of a file in JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def kept(record: dict[str, Any]) -> dict[str, Any]:
    """What a sample keeps of a record. The place of an answer is enough, since the document has its text."""
    answers = [{key: answer[key] for key in ("doc_id", "start", "end")} for answer in record.get("answers", ())]
    relevant = record.get("relevant")
    plain = {key: record[key] for key in ("id", "title", "text", "answer_mode") if record.get(key)}
    return plain | ({"relevant": relevant} if relevant else {"answers": answers} if answers else {})


def write(name: str, documents: Records, questions: Records) -> None:
    """Write one sample: documents, then questions."""
    content = "".join(json.dumps(kept(each), ensure_ascii=False) + "\n" for each in [*documents, *questions])
    path = SAMPLE / f"{name}.jsonl.gz"
    path.write_bytes(gzip.compress(content.encode(), 9, mtime=0))
    print(f"{name}: {len(documents)} documents, {len(questions)} questions, {path.stat().st_size:,} bytes")


def in_language(record: dict[str, Any], language: str) -> dict[str, Any]:
    """The record with ids that differ between languages."""
    answers = [answer | {"doc_id": f"{language}/{answer['doc_id']}"} for answer in record.get("answers", ())]
    return record | {"id": f"{language}/{record['id']}"} | ({"answers": answers} if answers else {})


def main(folder: Path) -> None:
    """Draw all samples."""
    SAMPLE.mkdir(exist_ok=True)
    for name, (count, asked) in SETS.items():
        write(name, *sample_of(read(folder / name / "corpus.jsonl"), read(folder / name / "queries.jsonl"), count, asked))
    documents, questions = [], []
    for language in LANGUAGES:
        corpus, queries = (
            [in_language(record, language) for record in read(folder / "xquad" / language / f"{kind}.jsonl")]
            for kind in ("corpus", "queries")
        )
        some = sample_of(corpus, queries, ARTICLES, ASKED)
        documents += some[0]
        questions += some[1]
    write("xquad", documents, questions)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
