"""Damaged documents in a folder and behind a server, in scoped and private views: the messages, and the repair."""

from __future__ import annotations

import uuid
import warnings
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import BM25, DamagedIndex, Document, F, Hybrid, Index, Vector
from leafspan.private import Vault, private_view
from leafspan.store import ReadHistory, Row
from leafspan.store._manifest import CHANGES_ID
from tests import rows
from tests.durability.versions import EMBEDDER, SPLITTER, document, records
from tests.private.views.people import KEY
from tests.store.columns import token_columns
from tests.store.tampering import count_a_change

NAMES = ["first", "second", "third"]

pytestmark = pytest.mark.usefixtures("leaves_from_chroma")


@pytest.fixture(params=["folder", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    if request.param == "folder":
        return {"path": tmp_path / "kb"}
    host, port = request.getfixturevalue("chroma_server")
    client = chromadb.HttpClient(host, port, settings=Settings(anonymized_telemetry=False))
    return {"client": client, "name": tmp_path.name, "cache_dir": tmp_path}


def open_index(place: dict[str, Any], **options: Any) -> Index:
    return Index.open(**place, embedder=EMBEDDER, splitter=SPLITTER, **options)


@pytest.fixture
def index(place: dict[str, Any]) -> Index:
    index = open_index(place)
    index.add([document(name, 1) for name in NAMES])
    index.retrieve("sentence", Hybrid())  # makes the segments
    return index


def raw(index: Index, place: dict[str, Any], collection: str) -> Any:
    return rows.collection(index, f"{place.get('name', 'kb')}.{collection}")


def break_row(index: Index, place: dict[str, Any], id_: str) -> None:
    raw(index, place, "manifest").update(ids=[id_], metadatas=[{"row": "{"}])
    notice(index, place)


def lose_leaf(index: Index, place: dict[str, Any], number: int) -> str:
    leaves = raw(index, place, "leaves")
    id_ = next(id_ for id_ in leaves.get(include=[])["ids"] if id_.startswith("first#") and id_.endswith(f"#{number}"))
    leaves.delete(ids=[id_])
    notice(index, place)
    return str(id_)


def notice(index: Index, place: dict[str, Any]) -> None:
    """Whoever writes says so to readers; nobody did that here."""
    if "path" in place:
        count_a_change(index)
    else:
        raw(index, place, "manifest").upsert(ids=[CHANGES_ID], **token_columns(uuid.uuid4().hex))


def test_a_missing_leaf_is_an_error_that_names_its_document_and_not_a_concurrent_update(
    index: Index, place: dict[str, Any]
) -> None:
    lose_leaf(index, place, 3)
    for read in (lambda: index.get("first"), lambda: index.leaves("first"), index.leaves):
        with pytest.raises(DamagedIndex, match=r"^document 'first' is damaged: its leaf 3 is missing; call repair\(\)"):
            read()
    with pytest.raises(DamagedIndex, match="its leaf 3 is missing"):
        index.retrieve("Document first says its sentence number 3", BM25(), k=1, where=F("version") == 1)
    assert index.get("second") == document("second", 1)
    assert index.leaves("second")


def test_damage_that_is_left_out_leaves_the_others(index: Index, place: dict[str, Any]) -> None:
    lose_leaf(index, place, 3)
    break_row(index, place, "second")
    with open_index(place, on_damage="skip") as lenient, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for strategy in (Vector(), BM25(), Hybrid()):
            found = lenient.retrieve("sentence number 3", strategy, k=20)
            if isinstance(strategy, Hybrid):
                assert {each.document_id for each in found} == {"third"}
                assert {each.trace.left_out for each in found} == {("first", "second")}
            assert {each.document_id for each in found} <= {"third", "first"}
        assert {each.document_id for each in lenient.leaves()} == {"third"}
    assert sorted(str(each.message).split(" is ")[0] for each in said) == ["document 'first'", "document 'second'"]


def test_one_damaged_row_is_named_where_all_documents_are_needed(index: Index, place: dict[str, Any]) -> None:
    break_row(index, place, "second")
    for read in (index.documents, index.count, index.stats, index.leaves, lambda: index.retrieve("sentence")):
        with pytest.raises(
            DamagedIndex, match=r"^document 'second' is damaged: its row in the manifest is damaged"
        ) as raised:
            read()
        assert raised.value.document_id == "second"
    assert index.get("first") == document("first", 1)


def test_writing_goes_on_beside_damaged_documents(index: Index, place: dict[str, Any], tmp_path: Path) -> None:
    break_row(index, place, "second")
    assert index.add([document("first", 2), document("new", 1)]).replaced == ("first",)
    assert index.delete(["third"]) == ["third"]
    assert index.delete(where=F("version") == 2) == ["first"]
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "one.txt").write_text("One file.")
    assert len(index.sync(tmp_path / "files").added) == 1
    assert index.build_tree().built
    assert index.get("new") == document("new", 1)
    assert [each.document_id for each in index.repair()] == ["second"]


def test_an_error_about_several_damaged_documents_names_one_and_counts_the_others(
    index: Index, place: dict[str, Any]
) -> None:
    for name in NAMES:
        break_row(index, place, name)
    with pytest.raises(DamagedIndex, match=r"^document 'first' is damaged \(and 2 more\): "):
        index.retrieve("sentence", BM25())


@pytest.mark.parametrize("version", [1, 2], ids=["the same", "another"])
def test_adding_a_document_whose_row_is_damaged_heals_it(index: Index, place: dict[str, Any], version: int) -> None:
    name = place.get("name", "kb")
    break_row(index, place, "second")
    assert index.add(document("second", version)).replaced == ("second",)
    assert index.get("second") == document("second", version)
    assert index.repair() == []
    assert len(records(index, name)["leaves"]) == 3 * 8


def test_deleting_a_document_whose_row_is_damaged_leaves_nothing_of_it(index: Index, place: dict[str, Any]) -> None:
    break_row(index, place, "second")
    assert index.delete(["second"]) == ["second"]
    left = records(index, place.get("name", "kb"))
    assert {id_.split("#")[0] for id_ in left["leaves"]} == left["manifest"].keys() == {"first", "third"}
    assert index.repair() == []


def test_repair_restores_a_row_whose_numbers_are_wrong_and_nothing_is_deleted(index: Index, place: dict[str, Any]) -> None:
    manifest = raw(index, place, "manifest")
    whole = records(index, place.get("name", "kb"))
    packed = manifest.get(ids=["first"])["metadatas"][0]["row"]
    for old, new in (('"leaves":8', '"leaves":5'), ('"characters":', '"characters":1'), ('"version":"', '"version":"0')):
        manifest.update(ids=["first"], metadatas=[{"row": packed.replace(old, new)}])
        notice(index, place)
        (finding,) = index.repair(quick=True)
        assert (finding.document_id, finding.repaired) == ("first", True)
        assert records(index, place.get("name", "kb")) == whole
    assert index.add([document(name, 1) for name in NAMES]).unchanged == 3


def test_repair_restores_the_row_of_a_table(index: Index, place: dict[str, Any]) -> None:
    table = "| name | price |\n|---|---|\n" + "".join(f"| lamp {n} | {n} |\n" for n in range(20))
    index.add(Document("table", f"# Lamps\n\n{table}"))
    manifest = raw(index, place, "manifest")
    row = Row.unpack("table", manifest.get(ids=["table"])["metadatas"][0])
    assert [section.text for section in row.sections] == ["Lamps", "name | price"]
    broken = row.packed.replace(f'"leaves":{row.leaves},', f'"leaves":{row.leaves - 1},')
    manifest.update(ids=["table"], metadatas=[{"row": broken}])
    notice(index, place)
    (finding,) = index.repair(quick=True)
    assert (finding.document_id, finding.repaired) == ("table", True)
    assert manifest.get(ids=["table"])["metadatas"][0]["row"] == row.packed


def test_a_view_names_its_own_documents_alone(index: Index, place: dict[str, Any]) -> None:
    ours, theirs = index.scoped(F("tenant") == "a"), index.scoped(F("tenant") == "b")
    ours.add([Document("plan", "Our secret plan is to plant trees.")])
    theirs.add([Document("plan", "Their plan is to dig a pond.")])
    (stored,) = {id_ for id_ in records(index, place.get("name", "kb"))["manifest"] if id_.startswith("plan@")} - {
        row.id for row in index.documents() if row.metadata.get("tenant") == "b"
    }
    break_row(index, place, stored)
    assert [each.text for each in theirs.retrieve("plan")] == ["Their plan is to dig a pond."]
    assert theirs.count() == 1
    with pytest.raises(DamagedIndex, match=r"^document 'plan' is damaged") as raised:
        ours.retrieve("plan")
    assert "@" not in str(raised.value)
    with pytest.raises(DamagedIndex, match=stored):
        index.documents()
    assert theirs.add([Document("plan", "Their plan is to dig two ponds.")]).replaced == ("plan",)
    assert ours.add([Document("plan", "Our secret plan is to plant trees.")]).replaced == ("plan",)
    assert [each.text for each in ours.retrieve("plan")] == ["Our secret plan is to plant trees."]
    assert index.repair() == []


def test_a_view_writes_over_no_damaged_document_that_was_moved_to_another_view(index: Index, place: dict[str, Any]) -> None:
    ours = index.scoped(F("tenant") == "a")
    ours.add([Document("plan", "A plan.")])
    (stored,) = {each.id for each in index.documents() if each.id.startswith("plan@")}
    index.add([Document(stored, "A plan that is theirs now.", metadata={"tenant": "b"})])
    break_row(index, place, stored)
    before = records(index, place.get("name", "kb"))["leaves"]
    with pytest.raises(DamagedIndex, match="is damaged and belongs to another view"):
        ours.add([Document("plan", "Another plan.")])
    assert ours.delete(["plan"]) == []
    assert records(index, place.get("name", "kb"))["leaves"] == before
    assert index.delete([stored]) == [stored]
    assert ours.add([Document("plan", "Another plan.")]).added == ("plan",)


def test_a_private_view_quotes_nothing_and_its_vault_forgets_nothing_of_a_damaged_document(tmp_path: Path) -> None:
    place = {"path": tmp_path / "kb"}
    with open_index(place) as index:
        vault = Vault.open(tmp_path / "vault.db", KEY)
        private = private_view(index, vault, finder=lambda text: [], known={"PERSON": ["Alice Smith"]}, reveal=True)
        private.add([Document("a", "Alice Smith called."), Document("b", "Nobody called.")])
        break_row(index, place, "a")
        private.add([Document("c", "Alice Smith wrote.")])
        private.clean()
        with pytest.raises(DamagedIndex, match=r"^document 'a' is damaged") as raised:
            private.documents()
        assert raised.value.document_id == "a"
        assert private.add([Document("a", "Alice Smith called.")]).replaced == ("a",)
        assert private.get("a").text == "Alice Smith called."


def test_suspicions_of_a_version_are_forgotten_when_another_version_of_the_document_is_suspected() -> None:
    history = ReadHistory()
    for version, times in (("1", 1), ("1", 2), ("2", 1), ("1", 1), ("1", 2)):
        history.suspect({("a", version)})
        assert history.suspicions["a", version] == times
    history.suspect({("b", "1")})
    assert history.suspicions == {("a", "1"): 2, ("b", "1"): 1}
