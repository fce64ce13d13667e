"""The steps of a writer, over collections in memory: laws for kills at any step, and the messages to readers."""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines import Record
from leafspan.flows import Call, Flow, run
from leafspan.store import Catalogue, Row, _writer
from leafspan.store._manifest import unpack_rows
from leafspan.store._writer import DocumentToWrite, Writer
from leafspan.values import LeafId
from tests.profiles import examples
from tests.store.memory import Killed, Records

OLD, NEW = "0ld0ld00", "0new0new"


class Disk:
    """What is stored, what has been done to it, and when the writer is killed: before this number of changes."""

    def __init__(self, killed_before: int | None = None) -> None:
        self.events: list[tuple[str, str, list[str]]] = []
        self.killed_before = killed_before
        self.leaves = Records("leaves", self._happened)
        self.manifest = Records("manifest", self._happened)
        self.finished: list[bool] = []

    def _happened(self, *event) -> None:
        if self.killed_before is not None and len(self.events) >= self.killed_before:
            raise Killed
        self.events.append(event)

    @property
    def rows(self) -> dict[str, Row]:
        return unpack_rows({id_: Record(id_, metadata=each["metadatas"]) for id_, each in self.manifest.records.items()})

    def writer(self) -> Writer:
        """A writer that has just got the lock."""

        def advance(changed: Set[str], *, settled: bool = True):
            yield Call(self._happened, ("readers", "told, settled" if settled else "told", []))

        return Writer(
            self.leaves.collection,
            self.manifest.collection,
            rows=self.rows,
            advance=advance,
            stop=self.finished.append,
            catalogue=no_catalogue,
        )


def no_catalogue() -> Flow[Catalogue]:
    raise AssertionError("nothing is merged here")


def document(name: str, version: str, leaves: int) -> DocumentToWrite:
    texts = [f"{name} {version} {n}" for n in range(leaves)]
    row = Row(name, f"hash of {version}", version, leaves, characters=9, words=3)
    return DocumentToWrite(
        row, texts, [{STRUCTURE_KEY: f"place {n}"} for n in range(leaves)], np.ones((leaves, 2), np.float32)
    )


def filled(leaves: dict[str, int], **options) -> Disk:
    """Documents in their old version, with this number of leaves each."""
    disk = Disk()
    run(disk.writer().replace([document(name, OLD, number) for name, number in leaves.items()]))
    disk.events.clear()
    disk.finished.clear()
    return disk


def test_each_record_is_written_once_however_many_calls_it_takes():
    disk = filled({})
    replaced(disk, {"a": 4, "b": 1, "c": 0, "d": 0, "e": 0})  # three records at once
    assert [ids for name, method, ids in disk.events if (name, method) == ("leaves", "add")] == [
        [f"a#{NEW}#0", f"a#{NEW}#1", f"a#{NEW}#2"],
        [f"a#{NEW}#3", f"b#{NEW}#0"],
    ]
    assert [ids for name, _, ids in disk.events if name == "manifest"] == [["a", "b", "c"], ["d", "e"]] * 2


def check_whole(disk: Disk) -> dict[str, str]:
    """Every document has all leaves of its current version, and every other leaf is noted. Returns the versions."""
    rows = disk.rows
    stored = {LeafId.parse(id_) for id_ in disk.leaves.records}
    for name, row in rows.items():
        current = {LeafId(name, row.version, n) for n in range(row.leaves)} if row.version else set()
        assert current <= stored
        noted = {LeafId(name, version, n) for version, number in row.leftovers for n in range(number)}
        assert {leaf for leaf in stored if leaf.document_id == name} <= current | noted
    assert {leaf.document_id for leaf in stored} <= rows.keys()
    return {name: row.version for name, row in rows.items() if row.version is not None}


def replaced(disk: Disk, versions: dict[str, int]) -> None:
    run(disk.writer().replace([document(name, NEW, number) for name, number in versions.items()]))


def deleted(disk: Disk, names: list[str]) -> None:
    writer = disk.writer()
    run(writer.delete([writer.rows[name] for name in names if name in writer.rows]))


numbers = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 5), max_size=4)


@examples(150)
@given(before=numbers, after=numbers.filter(bool), data=st.data())
def test_wherever_a_writer_is_killed_every_document_is_whole_and_the_next_one_finishes(before, after, data):
    names = data.draw(st.sets(st.sampled_from(sorted(before)))) if before else set()
    work = data.draw(st.sampled_from([lambda disk: replaced(disk, after), lambda disk: deleted(disk, sorted(names))]))
    undisturbed = filled(before)
    work(undisturbed)
    for step in range(len(undisturbed.events)):
        disk = filled(before)
        disk.killed_before = step
        with pytest.raises(Killed):
            work(disk)
        versions = check_whole(disk)
        assert all(version in (OLD, NEW) for version in versions.values())
        assert {name for name in before if name not in after and name not in names} <= versions.keys()

        disk.killed_before = None
        run(disk.writer().recover())
        assert check_whole(disk) == versions  # what was current stays so
        assert not any(row.is_half_done for row in disk.rows.values())
        work(disk)
        assert (disk.rows, disk.leaves.records) == (undisturbed.rows, undisturbed.leaves.records)


@examples(100)
@given(numbers, numbers.filter(bool))
def test_the_end_of_a_replacement_is_each_document_in_its_new_version_and_nothing_else(before, after):
    disk = filled(before)
    replaced(disk, after)
    wanted = {**dict.fromkeys(before, OLD), **dict.fromkeys(after, NEW)}
    assert check_whole(disk) == wanted
    assert not any(row.leftovers for row in disk.rows.values())
    leaves = {f"{name}#{version}#{n}" for name, version in wanted.items() for n in range({**before, **after}[name])}
    assert disk.leaves.records.keys() == leaves


def test_until_the_leaves_of_a_new_document_are_written_all_that_is_noted_is_which_they_are():
    disk = Disk(killed_before=1)
    with suppress(Killed):
        replaced(disk, {"a": 2})
    assert disk.rows == {"a": Row("a", hash="", version=None, leaves=0, leftovers=((NEW, 2),))}


def test_a_document_may_be_replaced_by_the_version_that_it_has():
    """So that leaves which got lost are there again."""
    disk = filled({"a": 3})
    del disk.leaves.records[f"a#{OLD}#1"]
    run(disk.writer().replace([document("a", OLD, 3)]))
    assert check_whole(disk) == {"a": OLD}
    assert len(disk.leaves.records) == 3


def test_all_leaves_of_a_damaged_document_with_any_numbers_go_with_it(monkeypatch):
    """Fewer may be noted for the next writer, so that a number that nobody has written is not counted up to."""
    monkeypatch.setattr(_writer, "_MOST", 3)
    disk = filled({"a": 5, "b": 1})
    disk.manifest.records["a"]["metadatas"] = {}
    deleted(disk, ["a"])
    assert check_whole(disk) == {"b": OLD}
    assert disk.leaves.records.keys() == {f"b#{OLD}#0"}


# What readers get


def moments(disk: Disk, what: str, method: str) -> list[int]:
    """When, by number of the change, something was done."""
    return [
        at
        for at, (name, how, ids) in enumerate(disk.events)
        if (name, how) == (what, method) and (ids or what == "readers")
    ]


def told(disk: Disk) -> list[int]:
    return sorted(moments(disk, "readers", "told") + moments(disk, "readers", "told, settled"))


@pytest.mark.parametrize("before", [{}, {"a": 2}, {"a": 2, "b": 1}], ids=["new", "replaced", "both"])
def test_readers_learn_of_leaves_before_the_manifest_names_them_and_of_the_manifest_before_leaves_go(before):
    disk = filled(before)
    replaced(disk, {"a": 2, "c": 1})
    noted, made_current, *_ = moments(disk, "manifest", "upsert")
    added = moments(disk, "leaves", "add")
    assert noted < added[0]
    assert added[-1] < made_current
    assert any(added[-1] < at < made_current for at in told(disk))
    for gone in moments(disk, "leaves", "delete"):
        assert any(made_current < at < gone for at in told(disk))
        assert any(gone < at for at in told(disk))


def test_readers_learn_of_leaves_that_are_written_again_before_they_go():
    disk = filled({"a": 2})
    run(disk.writer().replace([document("a", OLD, 2)]))
    (noted, *_), (added,) = moments(disk, "manifest", "upsert"), moments(disk, "leaves", "add")
    (gone,) = moments(disk, "leaves", "delete")
    assert noted < gone < added
    assert any(noted < at < gone for at in told(disk))


@examples(60)
@given(numbers.filter(bool), numbers.filter(bool))
def test_before_leaves_go_readers_learn_of_the_manifest_also_where_another_writer_has_written_it(before, after):
    undisturbed = filled(before)
    replaced(undisturbed, after)
    for step in range(len(undisturbed.events)):
        disk = filled(before)
        disk.killed_before = step
        with pytest.raises(Killed):
            replaced(disk, after)
        disk.killed_before = None
        run(disk.writer().recover())
        written = moments(disk, "manifest", "upsert")
        for gone in moments(disk, "leaves", "delete"):
            last = max(at for at in written if at < gone)
            assert any(last < at < gone for at in told(disk))


def test_readers_learn_that_a_document_goes_before_it_does_and_before_its_leaves_do():
    disk = filled({"a": 2})
    deleted(disk, ["a"])
    (hidden, *_), (gone,) = moments(disk, "manifest", "upsert"), moments(disk, "leaves", "delete")
    assert any(at < hidden for at in told(disk))  # or else one that has seen it go finds it again in what it has kept
    assert any(hidden < at < gone for at in told(disk))
    assert any(gone < at for at in told(disk))


@examples(100)
@given(numbers, numbers.filter(bool), st.booleans())
def test_a_change_is_settled_once_and_that_is_when_nothing_follows(before, after, deletes):
    disk = filled(before)
    if deletes and before:
        deleted(disk, sorted(before))
    else:
        replaced(disk, after)
    assert [event[1] for event in disk.events if event[0] == "readers"].count("told, settled") == 1
    assert disk.events[-1][:2] == ("readers", "told, settled")


@examples(100)
@given(numbers, numbers.filter(bool))
def test_the_lock_is_given_back_as_unfinished_exactly_where_something_is_left_to_do(before, after):
    undisturbed = filled(before)
    replaced(undisturbed, after)
    for step in range(len(undisturbed.events) + 1):
        disk = filled(before)
        disk.killed_before = step
        writer = disk.writer()
        with suppress(Killed):
            run(writer.replace([document(name, NEW, number) for name, number in after.items()]))
        writer.stop()
        if disk.events and disk.events[-1][0] != "readers":
            assert disk.finished == [False]  # the next writer tells them
    assert disk.finished == [True]


def test_a_writer_can_leave_something_to_the_next_one():
    disk = filled({"a": 1})
    writer = disk.writer()
    writer.leave_unfinished()
    writer.stop()
    idle = disk.writer()
    idle.stop()
    assert disk.finished == [False, True]


def test_leaves_that_belong_to_no_version_are_deleted_and_readers_learn_it():
    disk = filled({"a": 2})
    disk.leaves.records["b#ffffffff#0"] = {}
    run(disk.writer().delete_leaves(["b#ffffffff#0"]))
    assert check_whole(disk) == {"a": OLD}
    assert [event[:2] for event in disk.events] == [("leaves", "delete"), ("readers", "told, settled")]


def test_progress_adds_up_to_the_number_of_leaves():
    disk, done = Disk(), []
    run(disk.writer().replace([document("a", NEW, 5), document("b", NEW, 2)], done.append))
    assert done == [3, 3, 1]  # three at once: see ``Records``
    assert [each["documents"] for each in disk.leaves.records.values()] == [
        *(f"a {NEW} {n}" for n in range(5)),
        *(f"b {NEW} {n}" for n in range(2)),
    ]
    places = [each["metadatas"] for each in disk.leaves.records.values()]
    assert places == [{STRUCTURE_KEY: f"place {n}"} for n in [0, 1, 2, 3, 4, 0, 1]]
