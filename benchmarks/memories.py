"""Which share of questions has the items with the evidence among the first five that an agent's memory finds?

    python benchmarks/memories.py --data FOLDER [--conversations FILE]

The items are paragraphs of squad and hotpotqa and abstracts of scifact, put into LeafspanStore and into LangGraph's own
InMemoryStore with the same embedder. No conversations come with the question sets: FILE has some in LongMemEval's format, a
list of questions, each with its own sessions.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from question_sets import ASKED, add_data_option, evenly_spaced, load_documents, load_questions, what_is_absent

from langchain_ext import LeafspanStore
from leafspan import Index
from leafspan.embedding import default_embedder

SETS = ("squad", "hotpotqa", "scifact")
FIRST = 5


class Asked(NamedTuple):
    """A question, and the keys of the items with its evidence."""

    text: str
    evidence: set[str]


def of_a_set(folder: Path, name: str) -> tuple[dict[str, str], list[Asked]]:
    """The items of a question set by key, and its questions."""
    items: dict[str, str] = {}
    starts: dict[str, list[tuple[int, str]]] = {}  # of the paragraphs of each document
    for document in load_documents(folder, name):
        place = 0
        for number, paragraph in enumerate(document["text"].split("\n\n")):
            key = f"{document['id']} {number}"
            items[key] = f"{document['title']}\n{paragraph}"
            starts.setdefault(document["id"], []).append((place, key))
            place += len(paragraph) + 2
    questions = []
    for each in evenly_spaced(load_questions(folder, name), ASKED):
        places = [(answer["doc_id"], answer["start"]) for answer in each.get("answers", ())]
        places = places or [(id_, 0) for id_ in each.get("relevant", ())]
        evidence = {max(each for each in starts[id_] if each[0] <= start)[1] for id_, start in places}
        if evidence:
            questions.append(Asked(each["text"], evidence))
    return items, questions


def of_conversations(file: Path) -> Iterator[tuple[dict[str, str], list[Asked]]]:
    """The sessions of each question by id, and the question."""
    for each in json.loads(file.read_text("utf-8")):
        sessions = zip(each["haystack_session_ids"], each["haystack_sessions"], strict=True)
        texts = {id_: "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns) for id_, turns in sessions}
        if evidence := set(each["answer_session_ids"]):
            yield texts, [Asked(each["question"], evidence)]


def hits(store: BaseStore, items: Mapping[str, str], questions: Sequence[Asked]) -> int:
    """For how many questions all of the evidence is among the first five items."""
    store.batch([PutOp(("memories",), key, {"text": text}) for key, text in items.items()])
    answers = ({item.key for item in store.search(("memories",), query=each.text, limit=FIRST)} for each in questions)
    return sum(each.evidence <= keys for each, keys in zip(questions, answers, strict=True))


def measured(items: Mapping[str, str], questions: Sequence[Asked]) -> tuple[int, int]:
    """The hits of LeafspanStore, and of LangGraph's own store."""
    embedder = default_embedder()

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [list(map(float, vector)) for vector in embedder.documents(list(texts))]

    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "memory") as index:
        ours = hits(LeafspanStore(index, fields=["text"]), items, questions)
    theirs = hits(InMemoryStore(index={"embed": embed, "dims": 256, "fields": ["text"]}), items, questions)
    return ours, theirs


def main() -> None:
    """Print a row for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser, required=True)
    parser.add_argument("--conversations", type=Path, metavar="FILE", help="questions in LongMemEval's format")
    options = parser.parse_args()
    if (absent := what_is_absent(options.data, SETS)) is not None:
        sys.exit(absent)
    print(f"share of questions with all evidence among the first {FIRST} items\n")
    print(f"{'set':<16}{'items':>8}{'questions':>11}{'LeafspanStore':>15}{'InMemoryStore':>15}")
    for name in SETS:
        items, questions = of_a_set(options.data, name)
        _print(name, len(items), len(questions), *measured(items, questions))
    if options.conversations is not None:
        rows = [
            (len(items), len(asked), *measured(items, asked)) for items, asked in of_conversations(options.conversations)
        ]
        _print("conversations", *(sum(column) for column in zip(*rows, strict=True)))


def _print(name: str, items: int, questions: int, ours: int, theirs: int) -> None:
    print(f"{name:<16}{items:>8,}{questions:>11,}{ours / questions:>15.3f}{theirs / questions:>15.3f}", flush=True)


if __name__ == "__main__":
    main()
