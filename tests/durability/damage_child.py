"""Another process that opens an index whose files were damaged: ``python -m tests.durability.damage_child FOLDER``.

It prints as JSON what was wrong or missing, the warnings and errors, and what was still wrong after ``repair``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from leafspan import BM25, Document, F, HierarchicalSplitter, Index, LeafspanError, Vector
from leafspan.engines.chroma import _chroma

DOCUMENTS = 12
LEAVES = 20  # of a document
ALL = 10_000
_chroma._HNSW["sync_threshold"] = 100  # so that Chroma writes its vectors to files now and then


def document(number: int) -> Document:
    text = " ".join(f"Document {number} says {place} of what there is about {number * place}." for place in range(LEAVES))
    return Document(f"d{number}", text, metadata={"half": number % 2})


def build(folder: Path, numbers: range, *, warm: bool = True) -> None:
    with Index.open(folder, splitter=HierarchicalSplitter(leaf_words=12, parent_words=(24,))) as index:
        index.add([document(number) for number in numbers], progress=False)
        if warm:
            index.retrieve("document", BM25())
            index.retrieve("document", Vector(), where=F("half") == 0)


def look(folder: str, *, repair: bool) -> dict[str, Any]:
    """What a user meets."""
    met: dict[str, Any] = {"wrong": [], "missing": [], "told": [], "raw": []}

    def note(what: Callable[[], None]) -> None:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                what()
            except LeafspanError as error:
                met["told"].append(f"{type(error).__name__}: {error}")
            except Exception as error:
                met["raw"].append(f"{type(error).__name__}: {error}")
        met["told"] += [str(each.message) for each in warned if issubclass(each.category, RuntimeWarning)]

    def everything() -> None:
        with Index.open(folder, timeout=5) as index:
            if repair:
                note(lambda: met.update(findings=[each.problem for each in index.repair()]))
                note(lambda: met.update(added=len(index.add(map(document, range(DOCUMENTS)), progress=False).added)))
            for each in map(document, range(DOCUMENTS)):
                note(partial(get, index, each))
            for strategy in (Vector(), BM25()):
                note(partial(complete, index, strategy))
            note(lambda: halves(index.retrieve("document", Vector(), k=5, where=F("half") == 1)))

    def same(text: str, wanted: str) -> None:
        if text != wanted:
            met["wrong"].append(text[:80])

    def get(index: Index, wanted: Document) -> None:
        same(index.get(wanted.id).text, wanted.text)

    def complete(index: Index, strategy: Any) -> None:
        passages = index.retrieve("what a document says", strategy, k=ALL, candidates=ALL)
        for passage in passages:
            same(passage.text, document(int(passage.document_id[1:])).text[passage.start : passage.end])
        if len(passages) < DOCUMENTS * LEAVES:
            met["missing"].append(f"{len(passages)} of {DOCUMENTS * LEAVES} leaves")

    def halves(passages: list[Any]) -> None:
        if len(passages) != 5 or any(passage.metadata["half"] != 1 for passage in passages):
            met["missing"].append("what was filtered")

    note(everything)
    return met


if __name__ == "__main__":
    print(json.dumps({"first": look(sys.argv[1], repair=False)}), flush=True)
    print(json.dumps({"repaired": look(sys.argv[1], repair=True), "last": look(sys.argv[1], repair=False)}), flush=True)
