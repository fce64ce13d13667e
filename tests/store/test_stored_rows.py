"""Rows in the catalogue file equal a dict's rows after any change, and are unpacked only when they are needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.filters import F
from leafspan.store import Catalogue, DocumentTable, Row, RowHead
from leafspan.store import _document_table as document_table
from leafspan.store import _row_block as row_block
from leafspan.store import _stored_rows as stored_rows
from leafspan.store._catalogue_file import CatalogueFile
from leafspan.store._catalogue_records import KnownIndex
from leafspan.store._manifest import Damage
from leafspan.store._row_block import DamagedCatalogue
from leafspan.store._stored_rows import StoredRows
from leafspan.values import Section
from tests.profiles import examples

EMPTY = KnownIndex("id", {"format": "1"}, None, Catalogue({}))
IDS = ["a", "b", "c", "an id\twith\nodd ☃", "d/e", "f#g", "\udc80"]
VERSIONS = ["00000000", "11111111", "t2222222"]

rows = st.builds(
    Row,
    st.sampled_from(IDS),
    st.just("hash"),
    st.none() | st.sampled_from(VERSIONS),
    st.integers(0, 9),
    title=st.none() | st.sampled_from(["Ä title", '","title":"\\', ""]),
    metadata=st.dictionaries(st.sampled_from(["x", '{"metadata":']), st.integers(0, 3) | st.just('},"title":')),
    language=st.none() | st.just("de"),
    sections=st.just((Section(0, 0, 1, "one"),)),
    lines=st.just("1,2"),
)
changes = st.lists(rows | st.sampled_from(IDS), max_size=4)  # rows that were written, ids of documents that are gone


def head_of(row: Row | RowHead) -> RowHead:
    return RowHead(row.document_id, row.version, row.leaves, row.title, row.metadata, row.language)


class Written:
    """A file that a writer keeps up to date, and what it should say."""

    def __init__(self, path: Path, first: Mapping[str, Row]) -> None:
        self.path = path
        self.file = CatalogueFile(path)
        self.count = 0
        self.expected = dict(first)
        self.file.keep("kb", 0, self.known, ["kb"])

    @property
    def known(self) -> KnownIndex:
        return EMPTY._replace(catalogue=Catalogue(dict(self.expected)))

    def change(self, change: list[Row | str]) -> None:
        changed = set()
        for each in change:
            changed.add(each if isinstance(each, str) else each.document_id)
            if isinstance(each, str):
                self.expected.pop(each, None)
            else:
                self.expected[each.document_id] = each
        self.file.append("kb", (self.count, self.count + 1), self.known, changed)
        self.count += 1

    def read(self, file: CatalogueFile | None = None) -> StoredRows:
        known = (file or CatalogueFile(self.path)).read("kb", self.count)
        assert known is not None
        assert isinstance(known.catalogue.rows, StoredRows)
        return known.catalogue.rows


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the documents whose rows are unpacked."""
    calls: list[str] = []
    original = Row.unpack.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Row], document_id: str, metadata: object) -> Row:
        calls.append(document_id)
        return original(cls, document_id, metadata)  # type: ignore[no-any-return]

    monkeypatch.setattr(Row, "unpack", classmethod(counted))
    return calls


@pytest.fixture(params=["keys of their own", "the same key for all"])
def keys(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "the same key for all":
            patch.setattr(document_table, "_key", lambda encoded: 7)
        yield


@pytest.mark.usefixtures("keys")
@examples(200, fast=40)
@given(st.dictionaries(st.sampled_from(IDS), rows), st.lists(changes, max_size=5), st.integers(0, 600))
def test_after_any_changes_they_are_those_of_a_dict(tmp_path_factory, first, several, small):
    path = tmp_path_factory.mktemp("rows") / "catalogue"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leafspan.store._catalogue_file._SMALL", small)  # so that the file is rewritten now and then
        patch.setattr(stored_rows, "_CACHED", 2)
        patch.setattr(row_block, "_PORTION", 300)
        written = Written(path, {id_: replace(row, document_id=id_) for id_, row in first.items()})
        following = CatalogueFile(path)
        for change in [[], *several]:
            written.change(change)
            expected = written.expected
            for found in (written.read(), written.read(following)):
                assert dict(found) == dict(found.items()) == expected
                assert len(found) == len(expected)
                assert sorted(found) == sorted(expected)
                assert sorted(row.document_id for row in found.values()) == sorted(expected)
                assert sorted(found.versions(), key=str) == sorted(
                    ((row.document_id, row.version, row.leaves) for row in expected.values()), key=str
                )
                assert [head_of(each) for each in found.heads()] == [head_of(row) for row in found.values()]
                for id_ in IDS:
                    assert found.get(id_) == expected.get(id_)
                    assert (id_ in found) == (id_ in expected)
                assert found.leaves == sum(row.leaves for row in expected.values() if row.version is not None)
                ids: Collection[str] = IDS
                if len(expected) == 1 and document_table._key(b"a") == document_table._key(b"b"):
                    ids = expected  # another id with the key of the only document is not told apart from it
                asked = [(id_, version, leaves) for id_ in ids for version in VERSIONS for leaves in (0, 3)]
                current = [
                    (row := expected.get(id_)) is not None and (row.version, row.leaves) == (version, leaves)
                    for id_, version, leaves in asked
                ]
                table = DocumentTable.of(asked)
                assert found.current(table).tolist() == Catalogue(expected).current(table).tolist() == current


def test_reading_an_index_unpacks_no_row_but_those_that_are_asked_for(tmp_path: Path, unpacked: list[str]):
    written = Written(tmp_path / "catalogue", {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(50)})
    written.change([Row("new", "hash", VERSIONS[1], 3), "d7"])
    rows = written.read()
    catalogue = Catalogue(rows)
    assert (len(rows), catalogue.leaves, catalogue.damaged) == (50, 2 * 49 + 3, {})
    assert len(catalogue.select(None).ids) == 50
    assert sum(head.leaves for head in catalogue.heads() if isinstance(head, RowHead)) == 2 * 49
    unpacked.remove("new")  # what has changed since is unpacked
    table = DocumentTable.of([("d1", VERSIONS[0], 2), ("d7", VERSIONS[0], 2), ("new", VERSIONS[1], 3)])
    assert catalogue.current(table).tolist() == [True, False, True]
    assert unpacked == []
    assert [rows["new"].leaves, rows["d1"].leaves, rows.get("d7")] == [3, 2, None]
    assert rows["d1"] is rows["d1"]
    assert unpacked == ["new", "d1"]


def test_a_writer_unpacks_no_row_to_write_a_change_or_the_whole_again(
    tmp_path: Path, unpacked: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leafspan.store._catalogue_file._SMALL", 0)
    written = Written(tmp_path / "catalogue", {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(50)})
    for n in range(30):
        written.change([Row(f"d{n}", "hash", VERSIONS[1], 3)])
    assert unpacked == []
    assert dict(written.read()) == written.expected


def test_a_change_of_one_document_among_many_writes_little(tmp_path: Path):
    written = Written(tmp_path / "catalogue", {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(5_000)})
    before = written.path.stat()
    written.change([Row("d7", "hash", VERSIONS[1], 2)])
    after = written.path.stat()
    assert after.st_ino == before.st_ino
    assert 0 < after.st_size - before.st_size < 1_000


def test_not_more_rows_are_kept_than_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stored_rows, "_CACHED", 10)
    rows = Written(tmp_path / "catalogue", {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(50)}).read()
    for n in range(50):
        assert rows[f"d{n}"].document_id == f"d{n}"
        assert len(rows._kept) <= 10
    assert len(dict(rows.items())) == 50
    assert len(rows._kept) <= 10


def test_a_row_that_is_not_as_it_was_written_is_an_error_once_and_from_then_on_the_file_does_not_count(tmp_path: Path):
    written = Written(tmp_path / "catalogue", {id_: Row(id_, "hash", VERSIONS[0], 2, title="A title") for id_ in "ab"})
    content = written.path.read_bytes()
    written.path.write_bytes(content[::-1].replace(b"eltit A", b"eltit B", 1)[::-1])  # the last one's
    file = CatalogueFile(written.path)
    known = file.read("kb", 0)
    assert known is not None
    assert known.catalogue.rows["a"].title == "A title"
    assert not known.catalogue.is_damaged
    heads = iter(known.catalogue.heads())
    assert next(heads).title == "A title"
    with pytest.raises(DamagedCatalogue):
        next(heads)
    with pytest.raises(DamagedCatalogue):
        known.catalogue.rows["b"]
    assert known.catalogue.is_damaged
    assert file.read("kb", 0) is None
    file.append("kb", (0, 1), written.known, ["a"])
    assert file.read("kb", 1) is None
    file.keep("kb", 1, written.known, ["kb"])
    assert dict(written.file.read("kb", 1).catalogue.rows) == written.expected  # type: ignore[union-attr]
    assert dict(file.read("kb", 1).catalogue.rows) == written.expected  # type: ignore[union-attr]


def test_a_damaged_row_is_not_taken_over_when_the_file_is_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("leafspan.store._catalogue_file._SMALL", 0)
    written = Written(tmp_path / "catalogue", {id_: Row(id_, "hash", VERSIONS[0], 2, title="A title") for id_ in "abc"})
    other = CatalogueFile(written.path)
    other.keep("other", 0, written.known, ["kb", "other"])
    content = written.path.read_bytes()
    written.path.write_bytes(content.replace(b"A title", b"B title", 1))
    for n in range(3):
        written.change([Row("c", "hash", VERSIONS[n], 2)])
    for name in ("kb", "other"):
        known = CatalogueFile(written.path).read(name, written.count)
        assert known is None or all(row.title != "B title" for row in known.catalogue.rows.values())


@pytest.mark.parametrize("cut", [1, 60, 10_000])
def test_a_file_that_is_cut_off_while_it_is_open_is_noticed(tmp_path: Path, cut: int):
    """Nothing is mapped, so that the process does not end."""
    written = Written(tmp_path / "catalogue", {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(99)})
    rows = written.read()
    with written.path.open("r+b") as file:
        file.truncate(max(0, written.path.stat().st_size - cut))
    with pytest.raises(DamagedCatalogue, match=r"cut off|checksum"):
        list(rows.values())


def test_one_that_has_replaced_the_file_leaves_the_rows_of_those_who_read_the_old_one(tmp_path: Path):
    written = Written(tmp_path / "catalogue", {"a": Row("a", "hash", VERSIONS[0], 2)})
    rows = written.read()
    written.path.unlink()
    assert rows["a"] == written.expected["a"]


def test_documents_that_are_left_out_are_suspect_and_the_others_as_they_were(tmp_path: Path, unpacked: list[str]):
    written = Written(tmp_path / "catalogue", {id_: Row(id_, "hash", VERSIONS[0], 2) for id_ in "abc"})
    catalogue = Catalogue(written.read())
    damage = Damage("a text is missing", in_row=False)
    left = catalogue.without({("a", VERSIONS[0]): damage, ("b", VERSIONS[1]): damage, ("z", VERSIONS[0]): damage})
    assert left.damaged == {"a": damage}
    assert left.leaves == 4
    assert unpacked == ["a", "b"]
    assert left.rows["a"].version is None
    assert left.current(DocumentTable.of([(id_, VERSIONS[0], 2) for id_ in "abc"])).tolist() == [False, True, True]
    assert left.select(None).ids == {"b", "c"}


def test_filters_match_their_metadata(tmp_path: Path):
    written = Written(
        tmp_path / "catalogue",
        {id_: Row(id_, "hash", VERSIONS[n], 2, metadata={"n": n}) for n, id_ in enumerate("abc")},
    )
    written.change([Row("d", "hash", None, 0, metadata={"n": 9}), Row("a", "hash", VERSIONS[0], 5, metadata={"n": 7})])
    catalogue = Catalogue(written.read())
    found = catalogue.select(F("n") >= 2)
    assert (found.ids, found.leaves) == ({"a", "c"}, 7)


def test_the_file_of_an_earlier_version_is_not_read_and_made_again(tmp_path: Path):
    path = tmp_path / "catalogue"
    path.write_bytes(b"lsc1" + bytes(60))
    file = CatalogueFile(path)
    assert file.read("kb", 0) is None
    expected = {"a": Row("a", "hash", VERSIONS[0], 2)}
    file.keep("kb", 0, EMPTY._replace(catalogue=Catalogue(expected)), ["kb"])
    assert dict(CatalogueFile(path).read("kb", 0).catalogue.rows) == expected  # type: ignore[union-attr]


documents = st.lists(
    st.tuples(st.text() | st.sampled_from(IDS), st.none() | st.sampled_from(VERSIONS), st.integers(0, 2**32 - 1)),
    unique_by=lambda each: each[0],
)


@pytest.mark.usefixtures("keys")
@examples(100, fast=30)
@given(documents)
def test_a_table_finds_each_of_its_documents_and_no_other(several):
    table = DocumentTable.of(several)
    assert list(table) == several
    assert [table.find(id_) for id_, _, _ in several] == list(range(len(several)))
    assert table.find("an id that no document has") is None
    assert np.array_equal(table.sizes, [leaves for _, _, leaves in several])
    assert sum(each.nbytes for each in table.columns.values()) <= sum(4 * len(id_) + 32 for id_, _, _ in several)


@given(first=st.lists(rows, max_size=5), steps=st.lists(changes, min_size=1, max_size=5), since=st.integers(0, 4))
def test_what_has_changed_since_is_among_what_is_said_to_have(tmp_path_factory, first, steps, since):
    written = Written(tmp_path_factory.mktemp("changed") / "catalogue", {row.document_id: row for row in first})
    reader = CatalogueFile(written.path)
    states = [(written.read(reader), dict(written.expected))]
    for change in steps:
        written.change(change)
        states.append((written.read(reader), dict(written.expected)))
    earlier, before = states[min(since, len(states) - 2)]
    now, after = states[-1]
    said = now.changed_since(earlier)
    if said is not None:  # or the file was rewritten meanwhile
        assert {id_ for id_ in before.keys() | after.keys() if before.get(id_) != after.get(id_)} <= said
    assert now.changed_since(now) == set()


def test_after_one_change_only_that_one_is_said(tmp_path: Path):
    written = Written(tmp_path / "catalogue", {f"d{number}": Row(f"d{number}", "", VERSIONS[0], 1) for number in range(40)})
    reader = CatalogueFile(written.path)
    earlier = written.read(reader)
    written.change([Row("d3", "", VERSIONS[1], 1), "d5"])
    assert written.read(reader).changed_since(earlier) == {"d3", "d5"}
    assert CatalogueFile(written.path).read("kb", written.count).catalogue.rows.changed_since(earlier) is None
