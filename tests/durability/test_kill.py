"""A killed writer leaves a readable index, and the next ``add`` brings it to the state of an uninterrupted one."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from leafspan import Index
from leafspan.engines.chroma import _chroma
from tests.durability.children import ForkServer
from tests.durability.test_vector_repair import check_same
from tests.durability.versions import ALL, broken, document, open_index, records, text_of

BATCH = 13  # so that the documents are written in several groups, of one document and of two
OLD = [("same", 1, 3), ("first", 1, 8), ("second", 1, 6), ("third", 1, 5)]
NEW = [("same", 1, 3), ("first", 2, 7), ("new", 1, 6), ("second", 2, 8), ("third", 2, 6), ("newer", 1, 5), ("newest", 1, 9)]
NAMES = ["same", "first", "second", "third", "new", "newer", "newest"]

Texts = dict[str, dict[int | None, str | None]]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder before the add that is killed."""
    place = tmp_path_factory.mktemp("before") / "kb"
    with open_index({"path": str(place)}) as index:
        index.add([document(*each) for each in OLD])
    return place


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, before: Path) -> dict[str, Any]:
    """The records after an add that nothing disturbed."""
    place = shutil.copytree(before, tmp_path_factory.mktemp("undisturbed") / "kb")
    with open_index({"path": str(place)}) as index:
        index._store.batch = BATCH
        index.add([document(*each) for each in NEW])
        return records(index)


def versions(*states: list[tuple[str, int, int]]) -> Texts:
    """For each document its text by version, None where it is absent from a state."""
    texts: Texts = {}
    for name in NAMES:
        found = [next((each for each in state if each[0] == name), None) for state in states]
        texts[name] = {each[1] if each else None: document(*each).text if each else None for each in found}
    return texts


def check_whole(index: Index, texts: Texts) -> None:
    """Each document is there in one of its versions, and every passage is a piece of that one."""
    current = {name: text_of(index, name) for name in NAMES}
    for name, text in current.items():
        assert text in texts[name].values(), f"{name}: {text!r}"
    seen = {name: {v: t for v, t in texts[name].items() if t == current[name]} for name in NAMES}
    assert broken(index.retrieve("anything", k=ALL, candidates=ALL), seen) == []


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


@pytest.mark.slow
def test_after_a_kill_before_any_step_of_an_add_old_texts_are_whole_and_the_next_add_finishes_it(
    tmp_path: Path, fork_server: ForkServer, before: Path, undisturbed: dict[str, Any]
) -> None:
    # Steps are the calls to Chroma that write, and the counts of changes.
    for step in itertools.count():
        place = {"path": str(shutil.copytree(before, tmp_path / f"step-{step}"))}
        code = fork_server.write(place, add=NEW, batch=BATCH, die=step)
        with open_index(place) as index:
            check_whole(index, versions(OLD, NEW) if code else versions(NEW))
            index._store.batch = BATCH
            index.add([document(*each) for each in NEW])
            check_whole(index, versions(NEW))
            assert records(index) == undisturbed
            assert index.repair() == []
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step > 24, "the add has fewer steps than were to be tried"


@pytest.mark.slow
def test_after_a_kill_at_any_moment_the_next_add_leaves_the_same_records(
    tmp_path: Path, fork_server: ForkServer, before: Path, undisturbed: dict[str, Any]
) -> None:
    started = time.perf_counter()
    assert fork_server.write({"path": str(shutil.copytree(before, tmp_path / "whole"))}, add=NEW, batch=BATCH) == 0
    whole = time.perf_counter() - started
    moments = random.Random(7)
    for number in range(12):
        place = {"path": str(shutil.copytree(before, tmp_path / f"moment-{number}"))}
        seconds = moments.uniform(0.0, whole)
        fork_server.write(place, add=NEW, batch=BATCH, until=partial(time.sleep, seconds))
        with open_index(place) as index:
            check_whole(index, versions(OLD, NEW))
            index._store.batch = BATCH
            index.add([document(*each) for each in NEW])
            assert records(index) == undisturbed
            assert index.repair() == []


@pytest.mark.slow
def test_after_a_kill_before_any_step_of_a_first_add_the_next_add_finishes_it(
    tmp_path: Path, fork_server: ForkServer
) -> None:
    documents = [("one", 1, 8), ("two", 1, 8)]
    with open_index({"path": str(tmp_path / "undisturbed")}) as index:
        index._store.batch = BATCH
        index.add([document(*each) for each in documents])
        undisturbed = records(index)
    for step in itertools.count():
        place = {"path": str(tmp_path / f"step-{step}")}
        code = fork_server.write(place, add=documents, batch=BATCH, die=step)
        with open_index(place) as index:
            assert {info.id for info in index.documents()} <= {"one", "two"}
            index.add([document(*each) for each in documents])
            assert records(index) == undisturbed
            assert index.repair() == []
        if code == 0:
            break
    assert step > 6


def test_a_delete_that_was_killed_leaves_documents_whole_or_gone_and_repair_names_and_deletes_the_rest(
    tmp_path: Path, fork_server: ForkServer, before: Path
) -> None:
    kept = [each for each in OLD if each[0] not in ("first", "second")]
    named = []
    for step in itertools.count():
        place = {"path": str(shutil.copytree(before, tmp_path / f"step-{step}"))}
        code = fork_server.write(place, delete=["first", "second"], die=step)
        with open_index(place) as index:
            check_whole(index, versions(OLD, kept))
            named.append({finding.document_id for finding in index.repair()})
            assert index.repair() == []
            check_whole(index, versions(OLD, kept))
            index.delete(["first", "second"])
            check_whole(index, versions(kept))
            assert {id_.split("#")[0] for id_ in records(index)["leaves"]} == {"same", "third"}
        if code == 0:
            break
    # Nothing was written yet; then both are on their way out; at last they are gone.
    assert named == sorted(named, key=bool) or named[-1] == set()
    assert {"first", "second"} in named
    assert all(each in (set(), {"first", "second"}) for each in named)


def test_repair_right_after_a_kill_names_and_deletes_half_written_documents(
    tmp_path: Path, fork_server: ForkServer, before: Path
) -> None:
    # Killed when the first group's rows and leaves are written, and the manifest has not turned to them.
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    assert fork_server.write(place, add=NEW, batch=BATCH, die=2) == -signal.SIGKILL
    with open_index(place) as index:
        looked = index.check()
        assert [(finding.document_id, finding.repaired) for finding in looked] == [("first", False), ("new", False)]
        repaired = index.repair()
        assert [(finding.document_id, finding.problem) for finding in repaired] == [
            (
                "first",
                "was being replaced by an interrupted writer: the version that is shown is whole, leaves of another may be left",
            ),
            ("new", "was half written or half deleted by an interrupted writer: it is not shown, and can be added again"),
        ]
        assert all(finding.repaired for finding in repaired)
        assert index.repair() == []
        check_whole(index, versions(OLD))


def test_a_reader_that_stays_open_sees_what_the_add_after_a_killed_one_finds_unchanged(
    tmp_path: Path, fork_server: ForkServer, before: Path
) -> None:
    # Killed when all was written, before the change was counted: that is all that the next add has to do.
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    new = [("newest", 1, 9)]
    with open_index(place) as index:
        assert text_of(index, "newest") is None
        assert fork_server.write(place, add=new, die=4) == -signal.SIGKILL
        assert fork_server.write(place, add=new) == 0
        check_whole(index, versions(OLD + new))


def test_a_writer_that_stays_open_knows_what_a_killed_one_had_written(
    tmp_path: Path, fork_server: ForkServer, before: Path
) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    with open_index(place) as index:
        assert text_of(index, "first") == document("first", 1).text
        # Killed when the second version was current, before the change was counted.
        assert fork_server.write(place, add=[("first", 2, 8)], die=4) == -signal.SIGKILL
        index.add(document("first", 3))
        assert text_of(index, "first") == document("first", 3).text
        assert sum(id_.startswith("first#") for id_ in records(index)["leaves"]) == 8
        assert index.repair() == []


def segment(place: Path) -> Path:
    """Where Chroma keeps the leaves' vectors; here it writes them at every thousandth."""
    (ids,) = place.glob("*/index_metadata.pickle")
    return ids.parent


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which Chroma has written its vector files."""
    place = tmp_path_factory.mktemp("large") / "kb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_chroma._HNSW, "sync_threshold", 1_000)  # write them often, so that few leaves are enough
        with open_index({"path": str(place)}) as index:
            index.add([document(f"large-{i}", 1, 600) for i in range(2)])
    assert segment(place)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("torn", ["data_level0.bin", "index_metadata.pickle"])
def test_vectors_torn_by_a_kill_inside_of_chroma_are_rebuilt(
    tmp_path: Path, fork_server: ForkServer, large: Path, torn: str
) -> None:
    place = shutil.copytree(large, tmp_path / "kb")
    with open_index({"path": str(place)}) as index:
        expected = records(index)
    assert fork_server.write({"path": str(place)}, add=[("small", 1, 8)], die=1) == -signal.SIGKILL
    # As Chroma leaves it when it is killed while it writes: this file half done, those that follow untouched.
    file = segment(place) / torn
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with open_index({"path": str(place)}) as index:
        assert text_of(index, "large-1") == document("large-1", 1, 600).text
        assert len(index.retrieve("anything", k=5)) == 5
        assert index.add(document("small", 1)).added == ("small",)
        assert index.delete(["small"]) == ["small"]
        check_same(records(index), expected)
        assert index.repair() == []


@pytest.mark.slow
def test_a_kill_while_chroma_writes_its_vectors_loses_nothing(tmp_path: Path, fork_server: ForkServer, large: Path) -> None:
    new = [("more", 1, 3000)]
    with open_index({"path": str(shutil.copytree(large, tmp_path / "undisturbed"))}) as index:
        index.add([document(*each) for each in new])
        undisturbed = records(index)
    for name in ("header.bin", "data_level0.bin", "index_metadata.pickle"):
        place = shutil.copytree(large, tmp_path / name)
        file = segment(place) / name
        code = fork_server.write(
            {"path": str(place)}, add=new, until=partial(wait_for_change, file, file.stat().st_mtime_ns)
        )
        assert code == -signal.SIGKILL
        with open_index({"path": str(place)}) as index:
            assert text_of(index, "large-1") == document("large-1", 1, 600).text
            index.add([document(*each) for each in new])
            check_same(records(index), undisturbed)
            assert index.repair() == []


def wait_for_change(file: Path, written: int) -> None:
    deadline = time.monotonic() + 60
    while file.stat().st_mtime_ns == written:
        assert time.monotonic() < deadline
        os.sched_yield()
