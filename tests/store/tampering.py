"""A small index whose records are changed without leafspan, and what reading it may return."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    DamagedIndex,
    Document,
    F,
    Hybrid,
    Index,
    ParentDocument,
    Passage,
    RelevantSegments,
    SentenceWindow,
    Tree,
    Vector,
)
from tests.corpus import DOCUMENTS, SPLITTER, TEXTS
from tests.durability.versions import EMBEDDER
from tests.rows import collection

QUESTION = "When did the old pier burn down, and who decoded the dance of the bees?"
STRATEGIES = [
    Vector(),
    BM25(),
    Hybrid(),
    SentenceWindow(before=2, after=2),
    AutoMerging(threshold=0.2),
    ParentDocument(),
    RelevantSegments(),
    Browse(),
]
COLLECTIONS = ("leaves", "manifest", "tree.leaves", "tree.manifest")


def count_a_change(index: Index) -> None:
    """Count a change of an index in a folder, as its writer does."""
    folder: Any = index._store._folder  # type: ignore[attr-defined]
    lock = folder.writer_lock()
    assert lock.try_acquire()
    folder.advance(lock, time.monotonic() + 5.0)
    lock.release()


class Tampered:
    """An index in a folder, opened twice: damage is an error in one, and left out in the other."""

    def __init__(self, folder: Path) -> None:
        options: dict[str, Any] = {"embedder": EMBEDDER, "embedding_cache": False}
        self.strict = Index.open(folder, splitter=SPLITTER, **options)
        self.strict.add(DOCUMENTS)
        self.strict.build_tree()
        self.lenient = Index.open(folder, on_damage="skip", **options)
        self._altered: list[tuple[str, str]] = []
        self.whole = {name: self._collection(name).get(include=_COLUMNS) for name in COLLECTIONS}

    def close(self) -> None:
        self.strict.close()
        self.lenient.close()

    def ids(self, collection: str) -> list[str]:
        """The ids of the records of a collection, as they were written."""
        return sorted(self.whole[collection]["ids"])

    def metadata(self, collection: str, id_: str) -> dict[str, Any]:
        """The metadata of a record, as it was written."""
        answer = self.whole[collection]
        return dict(answer["metadatas"][answer["ids"].index(id_)])

    def text(self, collection: str, id_: str) -> str:
        """The text of a record, as it was written."""
        answer = self.whole[collection]
        return str(answer["documents"][answer["ids"].index(id_)])

    def alter(self, collection: str, id_: str, *, metadata: Any = None, text: str | None = None) -> None:
        """Write another metadata or text to a record."""
        answer = self.whole[collection]
        vector = answer["embeddings"][answer["ids"].index(id_)]  # otherwise Chroma would embed the text
        chosen = {"metadatas": [metadata]} if text is None else {"documents": [text], "embeddings": [vector]}
        self._collection(collection).update(ids=[id_], **chosen)
        self._altered.append((collection, id_))
        self.notice()

    def drop(self, collection: str, id_: str) -> None:
        """Delete a record."""
        self._collection(collection).delete(ids=[id_])
        self._altered.append((collection, id_))
        self.notice()

    def notice(self) -> None:
        """Have readers read again: whoever writes to a folder counts it, and nobody did that here."""
        count_a_change(self.strict)

    def put_back(self) -> None:
        """Write what was altered as it was."""
        for name, id_ in self._altered:
            answer = self.whole[name]
            at = slice(place := answer["ids"].index(id_), place + 1)
            self._collection(name).upsert(**{key: answer[key][at] for key in ("ids", *_COLUMNS) if answer[key] is not None})
        self._altered.clear()
        self.notice()

    def restore(self) -> None:
        """Put the records back as they were, and delete those that others have added."""
        for name, answer in self.whole.items():
            handle = self._collection(name)
            if extra := set(handle.get(include=[])["ids"]) - set(answer["ids"]):
                handle.delete(ids=sorted(extra))
            handle.upsert(**{key: answer[key] for key in ("ids", *_COLUMNS) if answer[key] is not None})
        self.notice()

    def _collection(self, name: str) -> Any:
        return collection(self.strict, f"kb.{name}")


_COLUMNS = ["documents", "metadatas", "embeddings"]


def retrievals(index: Index, *, trees: bool) -> Iterator[Callable[[], list[Passage]]]:
    """All ways in which the index can be asked, each as a function."""
    strategies = [*STRATEGIES, *([Tree(), Tree(mode="traversal")] if trees else [])]
    for strategy in strategies:
        yield lambda strategy=strategy: index.retrieve(QUESTION, strategy, k=8)
    yield lambda: index.retrieve(QUESTION, Vector(), k=8, where=F("year") > 1800)
    yield lambda: index.scoped(F("topic") == "animals").retrieve(QUESTION, Hybrid(), k=8)
    yield index.leaves


def check_exact(passages: list[Passage]) -> None:
    """Each piece of a document is in the text that was added."""
    for passage in passages:
        if passage.summary is None:
            assert passage.text == TEXTS[passage.document_id][passage.start : passage.end], passage


@contextmanager
def heard() -> Iterator[list[str]]:
    """The warnings that are given meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said: list[str] = []
        yield said
        assert all(issubclass(each.category, RuntimeWarning) for each in caught)
        said += [str(each.message) for each in caught]


def error_of(read: Callable[[], None]) -> DamagedIndex | None:
    """The error for damage that reading raises; None if it raises nothing."""
    try:
        read()
    except DamagedIndex as error:
        return error
    return None


def check_same(found: Document, added: Document) -> None:
    """The document is the one that was added."""
    assert found == added


def check_reading(tampered: Tampered, victim: str, *, trees: bool = False) -> bool:
    """Each answer is exact, or an error that names the damaged document, or says that it was left out.

    Returns:
        Whether anything was noticed.
    """
    noticed = False
    for ask in retrievals(tampered.strict, trees=trees):
        error = error_of(lambda ask=ask: check_exact(ask()))
        assert error is None or (error.document_id == victim and repr(victim) in str(error))
        noticed |= error is not None
    with heard():
        for ask in retrievals(tampered.lenient, trees=trees):
            found = ask()
            check_exact(found)
            if any(victim in passage.trace.left_out for passage in found):
                noticed = True
                assert all(passage.document_id != victim for passage in found)
    for document in DOCUMENTS:
        error = error_of(lambda document=document: check_same(tampered.strict.get(document.id), document))
        assert error is None or error.document_id == document.id == victim
        noticed |= error is not None
    scoped = tampered.strict.scoped(F("topic") == next(d.metadata["topic"] for d in DOCUMENTS if d.id != victim))
    check_exact(scoped.retrieve(QUESTION))  # other views do not notice
    assert len(scoped.documents()) == 1
    return noticed
