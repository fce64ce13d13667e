"""``repair`` names damaged parts, and repairs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leafspan import Finding, Index
from leafspan.engines import Record
from leafspan.store._manifest import unpack_rows
from leafspan.store._reader import Reader
from leafspan.values import LeafId
from tests.durability.versions import document, open_index, records, text_of
from tests.rows import collection as stored_collection
from tests.store.columns import columns


@pytest.fixture(params=["folder", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    if request.param == "folder":
        return {"path": str(tmp_path / "kb"), "name": "kb"}
    host, port = request.getfixturevalue("chroma_server")
    return {"host": host, "port": port, "name": tmp_path.name}


@pytest.fixture
def index(place: dict[str, Any]) -> Iterator[Index]:
    with open_index(place) as opened:
        opened.add([document("first", 1), document("second", 1)])
        yield opened


def raw(index: Index, place: dict[str, Any], collection: str) -> Any:
    return stored_collection(index, f"{place['name']}.{collection}")


def check(index: Index, place: dict[str, Any], expected: list[tuple[str, str]], *, mendable: bool = True) -> None:
    """Looking finds this and changes nothing; repairing finds it again, and after it nothing is wrong."""
    name = place["name"]
    before = records(index, name)
    assert index.check() == [Finding(*each, repaired=False) for each in expected]
    assert records(index, name) == before
    assert index.repair() == [Finding(*each, repaired=mendable) for each in expected]
    if mendable:
        assert index.repair() == []


def test_a_whole_index_has_no_findings(index: Index, place: dict[str, Any]) -> None:
    check(index, place, [])


def test_an_empty_index_has_no_findings(place: dict[str, Any]) -> None:
    with open_index(place) as index:
        check(index, place, [])


def test_leaves_of_a_version_that_is_not_current_are_named_and_deleted(index: Index, place: dict[str, Any]) -> None:
    whole = records(index, place["name"])
    leaves = raw(index, place, "leaves")
    leaves.add(
        ids=["first#00000000#0", "first#00000000#1"],
        documents=["a", "b"],
        metadatas=[{"leafspan": "1|0,0,1,1"}] * 2,
        embeddings=[[1.0] * 8] * 2,
    )
    check(index, place, [("first", "2 leaves of version 00000000, which does not count")])
    assert records(index, place["name"]) == whole


def test_leaves_of_a_document_whose_row_is_lost_are_named_and_kept_until_it_is_added_again(
    index: Index, place: dict[str, Any]
) -> None:
    whole = records(index, place["name"])
    raw(index, place, "manifest").delete(ids=["first"])
    raw(index, place, "leaves").add(
        ids=["strange"], documents=["a"], metadatas=[{"leafspan": "1|0,0,1,1"}], embeddings=[[1.0] * 8]
    )
    index.close()
    with open_index(place) as again:
        before = records(again, place["name"])["leaves"]
        lost = "8 leaves of a document that is not in the manifest; add the document again to restore it"
        expected = [Finding("strange", "a record that is no leaf", False), Finding("first", lost, False)]
        assert again.repair() == expected
        assert records(again, place["name"])["leaves"] == before
        assert again.add([document("first", 1), document("second", 1)]).added == ("first",)
        assert again.repair() == [Finding("strange", "a record that is no leaf", True)]
        assert records(again, place["name"]) == whole


def test_leaves_beyond_the_end_and_records_that_are_no_leaves_are_named_and_deleted(
    index: Index, place: dict[str, Any]
) -> None:
    whole = records(index, place["name"])
    leaves = raw(index, place, "leaves")
    some = next(iter(whole["leaves"]))
    document_id, version, _ = some.rsplit("#", 2)
    leaves.add(
        ids=["stranger", str(LeafId(document_id, version, 8))],
        documents=["a", "b"],
        metadatas=[{"leafspan": "1|0,0,1,1"}] * 2,
        embeddings=[[1.0] * 8] * 2,
    )
    check(index, place, [("stranger", "a record that is no leaf"), (document_id, "1 leaves beyond its end")])
    assert records(index, place["name"]) == whole


def test_missing_leaves_are_named_and_the_next_add_restores_them(index: Index, place: dict[str, Any]) -> None:
    text = document("first", 1).text
    leaves = raw(index, place, "leaves")
    first = sorted(id_ for id_ in leaves.get(include=[])["ids"] if id_.startswith("first#"))
    leaves.delete(ids=first[2:5])
    problem = "3 of 8 leaves are missing; add the document again to restore it"
    check(index, place, [("first", problem)], mendable=False)
    assert index.add([document("first", 1), document("second", 1)]).replaced == ("first",)
    assert text_of(index, "first") == text
    assert index.repair() == []
    assert len(records(index, place["name"])["leaves"]) == 2 * 8


def test_rows_that_note_leaves_of_another_version_are_named_and_their_leaves_removed(
    index: Index, place: dict[str, Any]
) -> None:
    whole = records(index, place["name"])
    manifest = raw(index, place, "manifest")
    row = unpack_rows({"first": Record("first", metadata=manifest.get(ids=["first"])["metadatas"][0])})["first"]
    coming = replace(row, leftovers=(("11111111", 3),))
    new = replace(row, document_id="new", version=None, leaves=0, hash="", leftovers=(("22222222", 2),))
    raw(index, place, "leaves").add(
        ids=[str(LeafId("first", "11111111", 1)), str(LeafId("new", "22222222", 0))],
        documents=["a", "b"],
        metadatas=[{"leafspan": "1|0,0,1,1"}] * 2,
        embeddings=[[1.0] * 8] * 2,
    )
    manifest.upsert(ids=["first", "new"], **columns([coming, new]))
    index.close()
    with open_index(place) as again:
        if "path" in place:
            # Whoever writes to a folder counts it; nobody did that here.
            again._store._folder.changes.advance()
        check(
            again,
            place,
            [
                (
                    "first",
                    "was being replaced by an interrupted writer: the version that is shown is whole, leaves of another may be left",
                ),
                (
                    "new",
                    "was half written or half deleted by an interrupted writer: it is not shown, and can be added again",
                ),
            ],
        )
        assert records(again, place["name"]) == whole
        assert {info.id for info in again.documents()} == {"first", "second"}


@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_a_document_that_is_replaced_or_deleted_while_it_reads_is_not_damaged(
    index: Index, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    read = Reader.stored_records
    todo = [lambda: index.add(document("first", 2)) if change == "replaced" else index.delete(["first"])]

    def change_first(reader: Reader, ids: Any, columns: Any) -> Any:
        while todo:
            todo.pop()()
        return read(reader, ids, columns)

    monkeypatch.setattr(Reader, "stored_records", change_first)
    assert index.repair() == []
    assert not todo
