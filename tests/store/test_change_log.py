"""The change log of an index behind a client: a reader that follows it has the same catalogue as the whole manifest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, Index
from leafspan.engines import Record
from leafspan.engines._tables import CalledEngine
from leafspan.flows import run
from leafspan.store import _change_log
from leafspan.store._change_log import LogWriter, Position, changed_since, last_position, unlogged_change
from tests.durability.versions import EMBEDDER, SPLITTER
from tests.engines.remote import RemoteEngine
from tests.profiles import examples


@pytest.fixture
def manifest() -> Any:
    return run(CalledEngine(RemoteEngine(), 10.0).create("m", {}, searched=False))


def since(manifest: Any, before: Position) -> Any:
    return run(changed_since(manifest, before, run(last_position(manifest))))


def test_a_reader_learns_which_documents_have_changed(manifest: Any):
    one, other = LogWriter(manifest), LogWriter(manifest)
    first = since(manifest, Position())
    assert first.documents is None
    run(one.write({"a", "b"}, settled=True))
    start = since(manifest, first.position)
    assert start.documents is None  # there was no change before, so the manifest may have been anything
    run(one.write({"c"}, settled=True))
    run(other.write({"d", "ä ö"}, settled=True))
    now = since(manifest, start.position)
    assert (now.documents, now.is_new) == ({"c", "d", "ä ö"}, True)
    again = since(manifest, now.position)
    assert (again.documents, again.is_new) == (frozenset(), False)


def test_documents_of_a_writer_at_work_are_read_each_time_until_it_is_done(manifest: Any):
    one, other = LogWriter(manifest), LogWriter(manifest)
    run(one.write((), settled=True))
    start = since(manifest, Position()).position
    run(one.write({"a"}, settled=False))
    begun = since(manifest, start)
    assert (begun.documents, begun.position.is_settled) == ({"a"}, False)
    run(other.write({"b"}, settled=True))  # and now the last token is a settled one
    beside = since(manifest, begun.position)
    assert (beside.documents, beside.position.is_settled) == ({"a", "b"}, True)
    assert since(manifest, beside.position).documents == {"a"}
    run(one.write({"a"}, settled=True))
    done = since(manifest, beside.position)
    assert done.documents == {"a"}
    assert since(manifest, done.position).documents == frozenset()


def test_who_comes_while_a_writer_is_at_work_or_was_killed_knows_of_it(manifest: Any):
    run(LogWriter(manifest).write({"a"}, settled=False))
    come = since(manifest, Position())
    assert come.documents is None
    assert since(manifest, come.position).documents == {"a"}


@pytest.mark.parametrize(
    "happen",
    [
        lambda manifest, before: unlogged(manifest),
        lambda manifest, before: run(manifest.delete([min(before.entries)])),
        lambda manifest, before: run(manifest.put([Record(_change_log.CHANGES_ID, metadata={"token": "another"})])),
        lambda manifest, before: damage(manifest),
        lambda manifest, before: many(manifest),
    ],
    ids=["a writer without entries", "an entry is gone", "a token without an entry", "a damaged entry", "a new log"],
)
def test_what_the_log_cannot_tell_the_whole_manifest_does(manifest: Any, happen: Any):
    writer = LogWriter(manifest)
    run(writer.write({"a"}, settled=True))
    before = since(manifest, Position()).position
    happen(manifest, before)
    assert since(manifest, before).documents is None


def unlogged(manifest: Any) -> None:
    """Write in a folder, and then behind a server again."""
    run(manifest.put(unlogged_change()))
    run(LogWriter(manifest).write({"b"}, settled=True))


def damage(manifest: Any) -> None:
    token = run(LogWriter(manifest).write({"b"}, settled=True))
    run(manifest.put([Record(_change_log._ENTRY + token, metadata={"log": "change", "entry": "{"})]))


def many(manifest: Any) -> None:
    writer = LogWriter(manifest)
    for number in range(400):
        run(writer.write({str(number)}, settled=True))


def test_the_log_stays_short_and_keeps_what_is_not_finished(manifest: Any):
    begun = LogWriter(manifest)
    run(begun.write({"kept"}, settled=False))
    writer = LogWriter(manifest)
    longest = 0
    for number in range(600):
        run(writer.write({str(number)}, settled=True))
        longest = max(longest, len(run(manifest.find("log", ["change"]))))
    assert longest < 4 * (_change_log._MOST + _change_log._ONE_IN)
    come = since(manifest, Position())
    run(begun.write({"kept"}, settled=False))
    assert "kept" in since(manifest, come.position).documents


CHANGES = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 1, 2, 3]), st.sampled_from([0, 1]), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(CHANGES)
@examples(200, fast=4)
def test_a_reader_that_follows_has_the_catalogue_of_a_new_one(changes: list[Any]):
    engine = RemoteEngine()
    options: dict[str, Any] = {"embedder": EMBEDDER, "splitter": SPLITTER, "embedding_cache": False}
    writers = [Index.open(client=engine, **options) for _ in range(2)]
    reader = Index.open(client=engine, **options)
    reader.documents()
    for name, version, writer, is_read in changes:
        if version is None:
            writers[writer].delete([name])
        else:
            writers[writer].add([Document(name, f"{name} {version}. More of it.", metadata={"v": version})])
        if is_read:
            fresh = Index.open(client=engine, **options).documents()
            assert reader.documents() == fresh
    assert reader.documents() == Index.open(client=engine, **options).documents()


def test_a_database_that_was_put_back_from_a_backup_is_noticed():
    engine = RemoteEngine()
    options: dict[str, Any] = {"embedder": EMBEDDER, "splitter": SPLITTER, "embedding_cache": False}
    writer, reader = (Index.open(client=engine, **options) for _ in range(2))
    writer.add([Document("a", "Old.")])
    backup = {name: engine.records(name) for name in ("kb.leaves", "kb.manifest")}
    writer.add([Document("a", "New."), Document("b", "Other.")])
    assert [each.id for each in reader.documents()] == ["a", "b"]
    for name, records in backup.items():
        table = engine.inner.table(name)
        vectors = {each.id: each.vector for each in table.scan(["vector"])}
        table.delete(list(engine.records(name)))
        table.put([record._replace(vector=vectors.get(id_)) for id_, record in records.items()])
    assert [each.id for each in reader.documents()] == ["a"]
