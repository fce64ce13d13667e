"""Measures what four strategies find in benchmarks/sample, a small sample of public question sets.

    python tools/quality.py

A figure is the share of questions whose answer is in the first 150, 300, 600 and 1,200 words that a strategy retrieves with
its defaults; for scifact, nDCG@10 of documents. ``Hybrid less the better`` is the least that ``Hybrid`` has more than the
better of ``BM25`` and ``Vector``, over all budgets. ``benchmarks/quality.py`` measures the whole sets.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).parents[1] / "benchmarks" / "sample"
NAMES = {"Vector": "vector", "BM25": "bm25", "Hybrid": "hybrid", "RelevantSegments": "relevant-segments"}
HELD = ("Hybrid", "RelevantSegments")


def read(path: Path) -> tuple[list[Any], list[Any]]:
    """The documents and the questions of one sample."""
    from leafspan import Document
    from leafspan.lab import Answer, Question

    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    documents = {
        record["id"]: Document(record["id"], record["text"], record.get("title", ""))
        for record in records
        if not {"answers", "relevant"} & record.keys()
    }
    questions = []
    for record in records[len(documents) :]:
        places = [(each["doc_id"], each["start"], each["end"]) for each in record.get("answers", ())]
        questions.append(
            Question(
                record["text"],
                answers=[Answer(id_, start, end, documents[id_].text[start:end]) for id_, start, end in places],
                needs_all=record.get("answer_mode") == "all",
                relevant=record.get("relevant", ()),
                id=record["id"],
            )
        )
    return [*documents.values()], questions


def measured(
    documents: Sequence[Any], questions: Sequence[Any], strategies: Mapping[str, Any] = NAMES
) -> dict[str, list[float]]:
    """The figures of each strategy: recall at each budget, or nDCG@10."""
    from leafspan import Index
    from leafspan.lab import evaluate

    with tempfile.TemporaryDirectory() as folder, Index.open(folder, embedding_cache=False) as index:
        index.add(documents, progress=False)
        evaluation = evaluate(index, questions, strategies, progress=False)
    measures = [each for each in evaluation.measures if each.startswith("recall") or each == "nDCG@10"]
    return {name: [evaluation.mean(name, measure) for measure in measures] for name in strategies}


def qualities() -> Iterator[tuple[str, list[float]]]:
    """The name of each figure, and its values, one for each budget."""
    for path in sorted(SAMPLE.glob("*.jsonl.gz")):
        name = path.name.split(".")[0]
        found = measured(*read(path))
        for strategy in HELD:
            yield f"{name}: {strategy}", found[strategy]
        better = map(max, found["BM25"], found["Vector"])
        yield f"{name}: Hybrid less the better", [min(h - b for h, b in zip(found["Hybrid"], better, strict=True))]


if __name__ == "__main__":
    for name, values in qualities():
        print(f"{name:<40}" + "".join(f"{value:>8.3f}" for value in values))
