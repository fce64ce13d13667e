"""Rows in the rows' file equal a dict's rows after any change, and are unpacked only when they are needed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.engines import StaleRead
from leafspan.errors import DamagedIndex, StorageFailed, StorageReadOnly
from leafspan.filters import F
from leafspan.store import Catalogue, DocumentTable, Row, RowHead
from leafspan.store import _document_table as document_table
from leafspan.store import _stored_rows as stored_rows
from leafspan.store._document_table import encoded
from leafspan.store._manifest import Damage
from leafspan.store._rows_file import RowsFile
from leafspan.store._stored_rows import StoredRows
from leafspan.values import Section
from tests.profiles import examples

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


def rows_file(folder: Path, *, read_only: bool = False) -> RowsFile:
    return RowsFile(folder, "default_tenant", "default_database", read_only=read_only)


class Written:
    """A file that a writer keeps up to date, and what it should say."""

    def __init__(self, folder: Path, first: Mapping[str, Row]) -> None:
        self.folder = folder
        self.file = rows_file(folder)
        self.expected = dict(first)
        self.file.make("kb", "leaves", {"leafspan": "{}"})
        self.file.write("kb", {id_: row.packed for id_, row in first.items()})

    def change(self, change: list[Row | str]) -> None:
        packed: dict[str, str | None] = {}
        for each in change:
            id_ = each if isinstance(each, str) else each.document_id
            packed.pop(id_, None)
            packed[id_] = None if isinstance(each, str) else each.packed
            if isinstance(each, str):
                self.expected.pop(each, None)
            else:
                self.expected[id_] = each
        self.file.write("kb", packed)

    def read(self, earlier: StoredRows | None = None) -> StoredRows:
        rows = rows_file(self.folder, read_only=True).read("kb", earlier)
        assert rows is not None
        return rows

    def alter(self, id_: str, old: bytes, new: bytes) -> None:
        """Change a row behind leafspan's back."""
        with closing(sqlite3.connect(self.file.path)) as database, database:
            query = "update rows set packed = cast(replace(packed, ?, ?) as blob) where document = ?"
            database.execute(query, (old, new, encoded(id_)))


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
@given(st.dictionaries(st.sampled_from(IDS), rows), st.lists(changes, max_size=5), st.integers(0, 6))
def test_after_any_changes_they_match_a_dict(tmp_path_factory, first, several, small):
    folder = tmp_path_factory.mktemp("rows")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leafspan.store._rows_file._FEW", small)  # so that the columns are written again now and then
        patch.setattr(stored_rows, "_CACHED", 2)
        patch.setattr(stored_rows, "_AT_ONCE", 2)
        written = Written(folder, {id_: replace(row, document_id=id_) for id_, row in first.items()})
        following = written.read()
        for change in [[], *several]:
            written.change(change)
            expected = written.expected
            following = written.read(following)
            for found in (written.read(), following):
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
    written = Written(tmp_path, {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(50)})
    written.change([Row("new", "hash", VERSIONS[1], 3), "d7"])
    rows = written.read()
    catalogue = Catalogue(rows)
    assert (len(rows), catalogue.leaves, catalogue.damaged) == (50, 2 * 49 + 3, {})
    assert len(catalogue.select(None).ids) == 50
    assert sum(head.leaves for head in catalogue.heads() if isinstance(head, RowHead)) == 2 * 49 + 3
    table = DocumentTable.of([("d1", VERSIONS[0], 2), ("d7", VERSIONS[0], 2), ("new", VERSIONS[1], 3)])
    assert catalogue.current(table).tolist() == [True, False, True]
    assert unpacked == []
    assert [rows["new"].leaves, rows["d1"].leaves, rows.get("d7")] == [3, 2, None]
    assert rows["d1"] is rows["d1"]
    assert unpacked == ["new", "d1"]


def test_a_writer_unpacks_no_row_to_write_a_change_or_the_whole_again(
    tmp_path: Path, unpacked: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leafspan.store._rows_file._FEW", 0)
    written = Written(tmp_path, {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(50)})
    for n in range(30):
        written.change([Row(f"d{n}", "hash", VERSIONS[1], 3)])
    assert unpacked == []
    assert dict(written.read()) == written.expected


def test_not_more_rows_are_kept_than_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stored_rows, "_CACHED", 10)
    rows = Written(tmp_path, {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(50)}).read()
    for n in range(50):
        assert rows[f"d{n}"].document_id == f"d{n}"
        assert len(rows._kept) <= 10
    assert len(dict(rows.items())) == 50
    assert len(rows._kept) <= 10


@pytest.mark.parametrize("few", [0, 100])
def test_a_damaged_row_starts_reading_again_and_all_damaged_rows_are_known_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
):
    monkeypatch.setattr("leafspan.store._rows_file._FEW", few)
    written = Written(tmp_path, {id_: Row(id_, "hash", VERSIONS[0], 2, title="A title") for id_ in "abcd"})
    for id_ in "bc":
        written.alter(id_, b"A title", b"B title")
    rows = written.read()
    catalogue = Catalogue(rows)
    assert catalogue.rows["a"].title == "A title"
    assert not catalogue.is_stale
    heads = iter(catalogue.heads())
    assert next(heads).title == "A title"
    with pytest.raises(StaleRead):
        next(heads)
    with pytest.raises(StaleRead):
        catalogue.rows["b"]
    assert catalogue.is_stale
    checked = written.file.read("kb", rows, checked=True)
    assert checked is not None
    again = Catalogue(checked)
    assert not again.is_stale
    assert {id_: damage.in_row for id_, damage in again.damaged.items()} == {"b": True, "c": True}
    assert again.select(None).ids == {"a", "d"}
    assert again.leaves == 4
    written.change([written.expected["b"]])  # what repair does
    later = written.file.read("kb", checked)
    assert later is not None
    assert later["b"] == written.expected["b"]
    assert set(later.damaged) <= {"c"}


def test_a_writer_gets_a_damaged_row_with_its_damage(tmp_path: Path):
    written = Written(tmp_path, {id_: Row(id_, "hash", VERSIONS[0], 2, title="A title") for id_ in "ab"})
    written.alter("b", b"A title", b"B title")
    rows = written.read().for_writer()
    assert (rows["a"].damage, rows["b"].version) == (None, None)
    assert rows["b"].damage is not None
    assert not rows.is_stale


def test_columns_that_contradict_the_row_are_damage(tmp_path: Path):
    written = Written(tmp_path, {"a": Row("a", "hash", VERSIONS[0], 2)})
    with closing(sqlite3.connect(written.file.path)) as database, database:
        database.execute("update rows set leaves = 3")
    with pytest.raises(StaleRead):
        written.read()["a"]


def test_damaged_columns_are_read_from_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("leafspan.store._rows_file._FEW", 0)
    written = Written(tmp_path, {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(20)})
    with closing(sqlite3.connect(written.file.path)) as database, database:
        (content,) = database.execute("select content from columns").fetchone()
        database.execute("update columns set content = ?", (content[:100] + bytes([content[100] ^ 1]) + content[101:],))
    assert dict(written.read()) == written.expected


def test_a_row_that_was_replaced_and_cleared_starts_reading_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written = Written(tmp_path, {id_: Row(id_, "hash", VERSIONS[0], 2) for id_ in "ab"})
    rows = written.read()
    written.change([Row("a", "hash", VERSIONS[1], 3)])
    assert rows["a"].version == VERSIONS[0]
    rows = written.read()
    monkeypatch.setattr("leafspan.store._rows_file._FEW", 0)
    written.change([Row("a", "hash", VERSIONS[2], 4)])
    with pytest.raises(StaleRead):
        rows["a"]
    assert rows.is_stale
    assert dict(written.read(rows)) == written.expected


def test_nothing_of_a_deleted_document_is_kept(tmp_path: Path):
    written = Written(
        tmp_path, {"a": Row("a", "hash", VERSIONS[0], 2, title="Secret"), "b": Row("b", "hash", VERSIONS[0], 1)}
    )
    written.change([Row("a", "hash", VERSIONS[1], 2, title="Secret")])
    written.change(["a"])
    with closing(sqlite3.connect(written.file.path)) as database:
        assert not [1 for (row,) in database.execute("select packed from rows") if row and b"Secret" in row]
    assert dict(written.read()) == written.expected


def test_documents_in_progress_are_found_without_unpacking_the_others(
    tmp_path: Path, unpacked: list[str], monkeypatch: pytest.MonkeyPatch
):
    def open_rows() -> list[str]:
        return [row.document_id for row in written.read().half_done]

    written = Written(tmp_path, {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(20)})
    written.change([Row("d3", "hash", VERSIONS[0], 2, leftovers=((VERSIONS[1], 4),)), Row("new", "", None, 0)])
    assert sorted(open_rows()) == ["d3", "new"]
    monkeypatch.setattr("leafspan.store._rows_file._FEW", 0)
    written.change([Row("other", "hash", VERSIONS[0], 2)])
    assert sorted(open_rows()) == ["d3", "new"]
    written.change([Row("d3", "hash", VERSIONS[0], 2), "new"])
    assert open_rows() == []
    assert sorted(set(unpacked)) == ["d3", "new"]


def test_indexes_and_databases_share_the_file(tmp_path: Path):
    one, other = rows_file(tmp_path), RowsFile(tmp_path, "acme", "default_database", read_only=False)
    assert (one.names(), one.find("kb"), one.read("kb")) == ([], None, None)
    for file, title in ((one, "One"), (other, "Other")):
        for name in ("kb", "kb.tree"):
            file.make(name, f"leaves of {title}", {"leafspan": "{}"})
            file.write(name, {"a": Row("a", "hash", VERSIONS[0], 2, title=f"{title} {name}").packed})
    for file, title in ((one, "One"), (other, "Other")):
        assert file.names() == ["kb", "kb.tree"]
        for name in file.names():
            rows = file.read(name)
            assert rows is not None
            assert rows["a"].title == f"{title} {name}"
    one.forget("kb")
    assert (one.names(), one.find("kb"), one.read("kb")) == (["kb.tree"], None, None)
    assert other.find("kb") is not None


def test_rows_of_other_indexes_are_not_looked_at_again(tmp_path: Path):
    """A reader asks after each change in the folder: with what another index got meanwhile, that must not take longer."""
    file = rows_file(tmp_path)
    for name in ("kb", "other"):
        file.make(name, f"leaves of {name}", {"leafspan": "{}"})
    file.write("kb", {"a": Row("a", "hash", VERSIONS[0], 2).packed})
    rows = file.read("kb")
    file.write("other", {str(number): Row(str(number), "hash", VERSIONS[0], 2).packed for number in range(50)})
    assert file.read("kb", rows) is rows
    assert rows is not None
    assert rows.upto == 51
    file.write("kb", {"b": Row("b", "hash", VERSIONS[0], 2).packed})
    changed = file.read("kb", rows)
    assert changed is not None
    assert (sorted(changed), changed.upto) == (["a", "b"], 52)


@pytest.mark.parametrize("cut", [0, 1, 50, 5_000])
def test_a_file_that_was_cut_off_is_damage(tmp_path: Path, cut: int):
    written = Written(tmp_path, {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(99)})
    with written.file.path.open("r+b") as file:
        file.truncate(cut)
    if not cut:
        assert rows_file(tmp_path).find("kb") is None
        return
    with pytest.raises(DamagedIndex, match=r"leafspan\.sqlite3' cannot be read .* put the whole folder back"):
        rows_file(tmp_path).read("kb")


def test_a_file_that_is_no_database_is_damage(tmp_path: Path):
    (tmp_path / "leafspan.sqlite3").write_bytes(b"something else" * 100)
    with pytest.raises(DamagedIndex, match=r"leafspan\.sqlite3' cannot be read .* put the whole folder back"):
        rows_file(tmp_path).find("kb")


def test_a_link_in_its_place_is_not_followed(tmp_path: Path):
    (tmp_path / "there").mkdir()
    written = Written(tmp_path / "there", {"a": Row("a", "hash", VERSIONS[0], 2)})
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "leafspan.sqlite3").symlink_to(written.file.path)
    with pytest.raises(StorageFailed, match="symbolic link"):
        rows_file(tmp_path / "here").find("kb")


def test_a_file_that_was_deleted_or_replaced_while_it_is_open_is_noticed(tmp_path: Path):
    written = Written(tmp_path, {"a": Row("a", "hash", VERSIONS[0], 2)})
    assert not written.file.is_replaced
    content = written.file.path.read_bytes()
    written.file.path.unlink()
    assert written.file.is_replaced
    with pytest.raises(DamagedIndex, match=r"leafspan\.sqlite3' is missing"):
        written.file.check_there()
    written.file.path.write_bytes(content)
    assert written.file.is_replaced


_KILLED = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("pragma journal_mode = truncate")
database.execute("pragma cache_size = 1")  # so that pages are written before the commit
database.execute("begin immediate")
for number in range(200):
    database.execute("update rows set packed = zeroblob(2000) where number = ?", (number,))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_writer_had_begun_to_write_is_rolled_back_by_who_may_write(tmp_path: Path):
    written = Written(tmp_path, {f"d{n}": Row(f"d{n}", "hash", VERSIONS[0], 2) for n in range(150)})
    before = written.read()
    subprocess.run([sys.executable, "-c", _KILLED, str(written.file.path)], check=False, timeout=60)
    assert written.file.path.with_name("leafspan.sqlite3-journal").stat().st_size > 0
    with pytest.raises(StorageReadOnly, match="if a writer was killed, open the index once where it can be written"):
        written.read(before)
    rows = rows_file(tmp_path).read("kb")
    assert rows is not None
    assert dict(rows) == written.expected
    assert dict(written.read()) == written.expected


def test_documents_that_are_left_out_are_suspect_and_the_others_as_they_were(tmp_path: Path, unpacked: list[str]):
    written = Written(tmp_path, {id_: Row(id_, "hash", VERSIONS[0], 2) for id_ in "abc"})
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
        tmp_path,
        {id_: Row(id_, "hash", VERSIONS[n], 2, metadata={"n": n}) for n, id_ in enumerate("abc")},
    )
    written.change([Row("d", "hash", None, 0, metadata={"n": 9}), Row("a", "hash", VERSIONS[0], 5, metadata={"n": 7})])
    catalogue = Catalogue(written.read())
    found = catalogue.select(F("n") >= 2)
    assert (found.ids, found.leaves) == ({"a", "c"}, 7)


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
    assert table.find("an unknown id") is None
    assert np.array_equal(table.sizes, [leaves for _, _, leaves in several])
    assert sum(each.nbytes for each in table.columns) <= sum(4 * len(id_) + 32 for id_, _, _ in several)


@given(first=st.lists(rows, max_size=5), steps=st.lists(changes, min_size=1, max_size=5), since=st.integers(0, 4))
def test_what_has_changed_since_is_among_what_is_said_to_have(tmp_path_factory, first, steps, since):
    written = Written(tmp_path_factory.mktemp("changed"), {row.document_id: row for row in first})
    states = [(written.read(), dict(written.expected))]
    for change in steps:
        written.change(change)
        states.append((written.read(states[-1][0]), dict(written.expected)))
    earlier, before = states[min(since, len(states) - 2)]
    now, after = states[-1]
    said = now.changed_since(earlier)
    if said is not None:  # or the columns were written again meanwhile
        assert {id_ for id_ in before.keys() | after.keys() if before.get(id_) != after.get(id_)} <= said
    assert now.changed_since(now) == set()


def test_after_one_change_only_that_one_is_said(tmp_path: Path):
    written = Written(tmp_path, {f"d{number}": Row(f"d{number}", "", VERSIONS[0], 1) for number in range(40)})
    earlier = written.read()
    written.change([Row("d3", "", VERSIONS[1], 1), "d5"])
    assert written.read(earlier).changed_since(earlier) == {"d3", "d5"}
    assert written.read().changed_since(earlier) is None
