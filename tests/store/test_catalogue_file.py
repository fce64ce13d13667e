"""The file that lists an index's content without Chroma: it is right or ignored, also when it is damaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.store._catalogue import Catalogue
from leafspan.store._catalogue_file import CatalogueFile
from leafspan.store._catalogue_records import KnownIndex
from leafspan.store._manifest import Damage, Row
from leafspan.store._row_block import DamagedCatalogue
from tests.profiles import examples

EMPTY = KnownIndex("id", {"format": "1"}, None, Catalogue({}))


def row(document_id: str, version: str = "v1", **values: object) -> Row:
    return Row(document_id, "hash", version, 3, metadata={"year": 1900, "tags": ["a", "b"]}, **values)


def holding(*rows: Row, embedder: str | None = None) -> KnownIndex:
    return EMPTY._replace(catalogue=Catalogue({each.document_id: each for each in rows}), embedder=embedder)


def what(known: KnownIndex | None) -> object:
    """What is known, in a form that can be compared."""
    return known and (known.id, known.settings, known.embedder, dict(known.catalogue.rows))


def read_or_none(file: CatalogueFile, name: str, count: int) -> object:
    """What a file says of an index; None if it does not tell, now or when it is asked again after it was found damaged."""
    try:
        return what(file.read(name, count))
    except DamagedCatalogue:
        assert file.read(name, count) is None
        return None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "leafspan.segments" / "catalogue"


def test_a_process_learns_what_another_one_has_kept_and_each_change(path: Path):
    writer, reader = CatalogueFile(path), CatalogueFile(path)
    assert reader.read("kb", 7) is None
    writer.keep("kb", 7, EMPTY, ["kb"])
    assert what(reader.read("kb", 7)) == what(EMPTY)
    first = holding(row("a", title="A"), row("b"), embedder="{}")
    writer.append("kb", (7, 8), first, ["a", "b"])
    assert what(reader.read("kb", 8)) == what(first)
    second = holding(row("b", "v2"), embedder="{}")
    writer.append("kb", (8, 9), second, ["a", "b"])
    assert what(reader.read("kb", 9)) == what(CatalogueFile(path).read("kb", 9)) == what(second)


def test_an_index_keeps_its_embedder_though_who_writes_does_not_know_it(path: Path):
    file = CatalogueFile(path)
    file.keep("kb", 7, holding(row("a"), embedder="{}"), ["kb"])
    file.append("kb", (7, 8), holding(row("a"), row("b")), ["b"])
    file.append("kb", (8, 9), holding(row("b")), ["a"])
    for known in (file.read("kb", 9), CatalogueFile(path).read("kb", 9)):
        assert what(known) == what(holding(row("b"), embedder="{}"))


def test_a_change_that_is_written_and_not_counted_yet_is_not_told(path: Path):
    writer = CatalogueFile(path)
    writer.keep("kb", 7, EMPTY, ["kb"])
    writer.append("kb", (7, 8), holding(row("a")), ["a"])
    assert what(CatalogueFile(path).read("kb", 7)) == what(EMPTY)
    assert CatalogueFile(path).read("kb", 9) is None  # counted by one who wrote nothing here, such as an earlier version
    writer.append("kb", (9, 10), holding(row("b")), ["b"])
    assert CatalogueFile(path).read("kb", 10) is None


def test_indexes_of_a_folder_share_the_file_and_keep_their_catalogues_while_others_change(path: Path):
    file = CatalogueFile(path)
    file.keep("kb", 1, holding(row("a")), ["kb", "other"])
    assert not file.lacks("other", 1)
    assert file.read("other", 1) is None  # it exists, but only Chroma knows what it holds
    assert file.lacks("kb.tree", 1)
    assert not file.lacks("kb.tree", 2)  # of that count nothing is known
    file.keep("other", 1, EMPTY, ["kb", "other"])
    known = file.read("kb", 1)
    file.append("other", (1, 2), holding(row("o")), ["o"])
    assert file.read("kb", 2) is known
    assert what(file.read("other", 2)) == what(holding(row("o")))


def test_a_file_with_many_changes_is_rewritten_with_all_that_it_has(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("leafspan.store._catalogue_file._SMALL", 2000)
    writer, reader = CatalogueFile(path), CatalogueFile(path)
    writer.keep("kb", 0, EMPTY, ["kb", "other"])
    writer.keep("other", 0, holding(row("o")), ["kb", "other"])
    for number in range(100):
        known = holding(row("a", f"v{number}"))
        writer.append("kb", (number, number + 1), known, ["a"])
        assert path.stat().st_size < 6000
        assert what(reader.read("kb", number + 1)) == what(known)
        assert what(reader.read("other", number + 1)) == what(holding(row("o")))
    assert [each.name for each in path.parent.iterdir()] == ["catalogue"]


def test_an_index_with_a_damaged_row_is_not_kept_since_each_process_is_to_meet_it(path: Path):
    damaged = holding(replace(row("a"), damage=Damage("its row is damaged", in_row=True)))
    CatalogueFile(path).keep("kb", 1, damaged, ["kb"])
    assert CatalogueFile(path).read("kb", 1) is None
    CatalogueFile(path).keep("kb", 1, EMPTY, ["kb"])
    CatalogueFile(path).append("kb", (1, 2), damaged, ["a"])
    assert CatalogueFile(path).read("kb", 2) is None


def test_two_that_write_at_once_leave_nothing_that_is_wrong(path: Path):
    one, other = CatalogueFile(path), CatalogueFile(path)
    one.keep("kb", 1, EMPTY, ["kb"])
    assert other.read("kb", 1)
    one.append("kb", (1, 2), holding(row("a")), ["a"])
    other.keep("kb", 1, EMPTY, ["kb"])  # by a reader that has read Chroma before that change
    assert [what(CatalogueFile(path).read("kb", count)) for count in (1, 2)] in (
        [what(EMPTY), what(holding(row("a")))],
        [what(EMPTY), None],
    )


def test_a_file_that_was_removed_is_written_again(path: Path):
    file = CatalogueFile(path)
    file.keep("kb", 1, EMPTY, ["kb"])
    file.forget()
    assert not path.exists()
    assert file.read("kb", 1) is None
    file.append("kb", (1, 2), holding(row("a")), ["a"])
    assert file.read("kb", 2) is None
    file.keep("kb", 2, holding(row("a")), ["kb"])
    assert what(file.read("kb", 2)) == what(holding(row("a")))


def test_a_link_in_its_place_is_not_followed(path: Path, tmp_path: Path):
    CatalogueFile(tmp_path / "elsewhere").keep("kb", 1, EMPTY, ["kb"])
    before = (tmp_path / "elsewhere").read_bytes()
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    assert CatalogueFile(path).read("kb", 1) is None
    CatalogueFile(path).keep("kb", 1, holding(row("a")), ["kb"])
    assert (tmp_path / "elsewhere").read_bytes() == before


@examples(400, fast=60)
@given(st.data())
def test_a_byte_that_has_changed_or_a_torn_end_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    path = tmp_path_factory.mktemp("damage") / "catalogue"
    writer = CatalogueFile(path)
    history: dict[tuple[str, int], KnownIndex] = {}
    state = {"kb": EMPTY, "other": EMPTY}
    for name in state:
        writer.keep(name, 0, EMPTY, state)
    for count in range(1, 4):
        name = data.draw(st.sampled_from(sorted(state)))
        id_ = data.draw(st.sampled_from(["a", "b", "an id\twith\nodd ☃"]))
        rows = dict(state[name].catalogue.rows)
        if rows.pop(id_, None) is None:
            rows[id_] = row(id_, f"v{count}")
        state[name] = EMPTY._replace(catalogue=Catalogue(rows))
        writer.append(name, (count - 1, count), state[name], [id_])
        history |= {(each, count): known for each, known in state.items()}
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans(), label="cut off"):
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    for (name, count), known in history.items():
        found = CatalogueFile(path)
        assert read_or_none(found, name, count) in (None, what(known))
        assert not found.lacks(name, count)
