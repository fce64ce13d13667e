"""Repeating a failed deletion finishes it, although no document shows any more what it was about."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import Document, F, Index
from leafspan.engines.chroma._collection import Collection
from leafspan.view import View
from tests.corpus import SPLITTER
from tests.profiles import paired

NAMES = itertools.count()
OLD = [Document(f"old-{n}", f"Old document {n}.", metadata={"year": 1999, "tenant": "a"}) for n in range(3)]
NEW = Document("new", "A new document.", metadata={"year": 2024, "tenant": "a"})
OTHER = Document("other", "Of somebody else.", metadata={"year": 1999, "tenant": "b"})
HALF_DELETED = "was half written or half deleted by an interrupted writer: it is not shown, and can be added again"

Delete = Callable[[View], Any]
DELETIONS: dict[str, Delete] = {
    "a filter": lambda view: view.delete(where=F("year") < 2000),
    "a sync": lambda view: view.sync([NEW], within=F("tenant") == "a"),
    "an empty sync": lambda view: view.sync([], within=F("year") == 1999, allow_empty=True),
    "ids": lambda view: view.delete(["old-0", "old-1", "old-2"]),
}


@pytest.fixture(params=["folder", "client"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    if request.param == "folder":
        return Index.open(tmp_path, splitter=SPLITTER)
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    return Index.open(client=client, name=f"deletions-{next(NAMES)}", splitter=SPLITTER)


@pytest.mark.parametrize(("delete", "scoped"), paired(DELETIONS.values(), [False, True]))
def test_the_same_deletion_finishes_what_it_had_begun(opened: Index, monkeypatch, delete: Delete, scoped: bool) -> None:
    opened.add(OTHER)
    view = opened.scoped(F("tenant") == "a") if scoped else opened
    view.add([*OLD, NEW])
    if not scoped:
        opened.delete(["other"])  # which the empty sync would delete otherwise
    deleting = Collection.delete
    with monkeypatch.context() as patch:
        patch.setattr(Collection, "delete", lambda self, ids: deleting(self, ids[:1]) if not ids else fail())
        with pytest.raises(OSError, match="the disk is gone"):
            delete(view)
    assert [each.id for each in view.documents()] == ["new"]
    assert [finding.problem for finding in opened.check()] == [HALF_DELETED] * 3
    delete(view)
    assert opened.check() == []
    assert [each.id for each in view.documents()] == ["new"]
    assert not any("Old" in text for text in stored_texts(opened))


def stored_texts(opened: Index) -> list[str]:
    """What Chroma has of leaves, whether documents show them or not."""
    name = "kb.leaves" if opened._store.embedded else opened._store.leaves.name
    texts: list[str] = opened.client.get_collection(name).get()["documents"]
    return texts


def fail() -> Any:
    raise OSError("the disk is gone")


def test_a_document_that_is_being_written_for_the_first_time_is_not_taken_for_one(monkeypatch) -> None:
    # Behind a client, another process may be writing it right now.
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    name = f"deletions-{next(NAMES)}"
    index, other = (Index.open(client=client, name=name, splitter=SPLITTER) for _ in range(2))
    index.add(NEW)
    adding = Collection.put

    def add_and_meanwhile(self: Collection, records: Any, **how: Any) -> Any:
        yield from adding(self, records, **how)
        if self.name.endswith(".manifest"):
            return
        other.delete(where=F("year") < 2000)
        other.sync([NEW], within=F("tenant") == "a")

    with monkeypatch.context() as patch:
        patch.setattr(Collection, "put", add_and_meanwhile)
        index.add(OLD[0])
    assert index.get("old-0").text == "Old document 0."
    assert index.check() == []


@pytest.mark.parametrize("scoped", [False, True], ids=["whole index", "view"])
def test_deleting_a_document_by_its_id_takes_what_a_failed_add_has_left_of_it(
    opened: Index, monkeypatch, scoped: bool
) -> None:
    opened.add(OTHER)
    view = opened.scoped(F("tenant") == "a") if scoped else opened
    adding = Collection.put

    def add_and_fail(self: Collection, records: Any, **how: Any) -> Any:
        yield from adding(self, records, **how)
        if self.name.endswith(".leaves"):
            fail()

    with monkeypatch.context() as patch:
        patch.setattr(Collection, "put", add_and_fail)
        with pytest.raises(OSError, match="the disk is gone"):
            view.add(NEW)
    assert "A new document." in stored_texts(opened)
    assert view.delete(["new"]) == []  # it never was there, and nothing of it stays
    assert stored_texts(opened) == ["Of somebody else."]
    assert opened.check() == []
