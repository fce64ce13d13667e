"""Another process that flips bits in an index, and asks it all it can: ``python -m tests.durability.flip_child FOLDER JOB``.

For each flip it forks, so that a crash is one outcome among others; before, it has opened nothing. It prints one JSON a flip.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leafspan import (
    BM25,
    AutoMerging,
    F,
    Hybrid,
    Index,
    LeafspanError,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.engines.chroma import _chroma
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS
from tests.durability.versions import EMBEDDER

STRATEGIES: tuple[Strategy, ...] = (
    Vector(),
    BM25(),
    Hybrid(),
    AutoMerging(),
    SentenceWindow(),
    ParentDocument(),
    RelevantSegments(),
    Tree(),
)
_SECONDS = 60


def build(folder: Path) -> None:
    """An index with trees, whose vectors Chroma has written to files."""
    usual = _chroma._HNSW["sync_threshold"]
    _chroma._HNSW["sync_threshold"] = 10
    try:
        with Index.open(folder, embedder=EMBEDDER, splitter=SPLITTER) as index:
            index.add(DOCUMENTS)
            index.build_tree()
            answers(index)
    finally:
        _chroma._HNSW["sync_threshold"] = usual


def answers(index: Index) -> dict[str, Any]:
    """What an index says, by the request: an answer, or an error."""
    asks: dict[str, Callable[[], Any]] = {"count": index.count}
    for strategy in STRATEGIES:
        for question in QUESTIONS[:2]:
            asks[f"{strategy} {question}"] = lambda s=strategy, q=question: shown(index.retrieve(q, s, k=4))
        asks[f"{strategy} filtered"] = lambda s=strategy: shown(
            index.retrieve(QUESTIONS[3], s, k=4, where=F("year") > 1900)
        )
    for document in DOCUMENTS:
        asks[f"get {document.id}"] = lambda id_=document.id: index.get(id_).text
        asks[f"leaves {document.id}"] = lambda id_=document.id: shown(index.leaves(id_))
    found: dict[str, Any] = {}
    for name, ask in asks.items():
        try:
            found[name] = ask()
        except LeafspanError as error:
            found[name] = {"told": f"{type(error).__name__}: {error}"}
        except BaseException as error:  # a panic of Chroma's Rust code is no Exception
            found[name] = {"raw": f"{type(error).__name__}: {error}"}
    return found


def shown(passages: Any) -> list[Any]:
    """What counts of passages, without scores, which Chroma rounds otherwise than the copy. Each is what was added."""
    for each in passages:
        if each.summary is None and TEXTS[each.document_id][each.start : each.end] != each.text:
            raise AssertionError(f"not in the documents: {each.text!r}")
    return [[each.id, each.text, dict(each.metadata), each.title] for each in passages]


def look(folder: str) -> dict[str, Any]:
    """What another process meets in a folder, and after a doctor and an add of the same documents."""
    met: dict[str, Any] = {}
    for name in ("first", "last"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                with Index.open(folder, embedder=EMBEDDER, timeout=5) as index:
                    if name == "last":
                        index.repair(verify=True)
                        index.add(DOCUMENTS)
                        index.build_tree()
                    met[name] = answers(index)
            except LeafspanError as error:
                met[name] = {"open": {"told": f"{type(error).__name__}: {error}"}}
            except BaseException as error:
                met[name] = {"open": {"raw": f"{type(error).__name__}: {error}"}}
    return met


def forked(work: Callable[[], Any]) -> dict[str, Any]:
    """What a fork of this process gives, and how it ended."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(work(), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        content = told.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"code": code, **(json.loads(content) if content else {})}


def flip(path: Path, place: int, bit: int) -> None:
    """Flip a bit."""
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ (1 << bit)]))


if __name__ == "__main__":
    whole, job = Path(sys.argv[1]), json.loads(sys.argv[2])
    for name, place, bit, bare in job["flips"]:
        folder = Path(job["place"]) / "kb"
        shutil.copytree(whole, folder)
        if bare:  # so that Chroma is read
            shutil.rmtree(folder / "leafspan.segments")
        flip(folder / name, place, bit)
        met = forked(lambda: look(str(Path(job["place"]) / "kb")))
        print(json.dumps({"flip": [name, place, bit, bare], **met}), flush=True)
        shutil.rmtree(folder)
