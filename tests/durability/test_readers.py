"""Readers see only complete documents of one version, and see finished writes at their next question."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from leafspan import Index
from tests.durability.child import look
from tests.durability.children import Child, child
from tests.durability.versions import document, open_index
from tests.profiles import THOROUGH

# What each document's version is, None where it is not there, in each state that the writer brings about.
STATES: list[dict[str, int | None]] = [
    {"apple": 1, "pear": 1, "plum": None, "quince": 1},
    {"apple": 2, "pear": 1, "plum": 1, "quince": 1},
    {"apple": 2, "pear": 1, "plum": 1, "quince": None},
    {"apple": 3, "pear": 2, "plum": 2, "quince": None},
    {"apple": 3, "pear": None, "plum": None, "quince": None},
    {"apple": 4, "pear": 3, "plum": 3, "quince": 2},
    {"apple": 1, "pear": 1, "plum": 1, "quince": 1},
    {"apple": 2, "pear": 2, "plum": 2, "quince": 2},
]
if not THOROUGH:
    del STATES[4:]


def bring_about(index: Index, state: dict[str, int | None], before: dict[str, int | None]) -> None:
    index.add([document(name, version) for name, version in state.items() if version is not None])
    gone = [name for name, version in state.items() if version is None and before[name] is not None]
    if gone:
        assert sorted(index.delete(gone)) == sorted(gone)


@pytest.fixture(params=["folder", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """An index in a folder, or behind a server."""
    if request.param != "server":
        return {"path": str(tmp_path / "kb")}
    host, port = request.getfixturevalue("chroma_server")
    return {"host": host, "port": port, "name": tmp_path.name}


@contextmanager
def reading_threads(index: Index, told: dict[str, int], count: int) -> Iterator[tuple[list[str], list[int]]]:
    """Threads that look at the index all the time; what they found wrong, and how often each has looked."""
    failures: list[str] = []
    looks = [0] * count
    stop = threading.Event()

    def read(number: int) -> None:
        while not stop.is_set():
            try:
                failures.extend(look(index, STATES, told))
            except Exception as error:
                failures.append(repr(error))
            looks[number] += 1

    threads = [threading.Thread(target=read, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield failures, looks
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_threads_see_whole_documents_of_one_version_while_another_writes(place: dict[str, Any]) -> None:
    index = open_index(place)
    bring_about(index, STATES[0], STATES[0])
    told = {"started": 0, "completed": 0}
    with reading_threads(index, told, 2) as (failures, looks):
        for number, state in enumerate(STATES[1:], start=1):
            told["started"] = number
            bring_about(index, state, STATES[number - 1])
            told["completed"] = number
            # One look that began before, and one after.
            seen = list(looks)
            while not all(now > then + 1 for now, then in zip(looks, seen, strict=True)):
                threading.Event().wait(0.001)
    assert failures == []


@pytest.mark.parametrize("place", ["folder", pytest.param("server", marks=pytest.mark.slow)], indirect=True)
def test_another_process_sees_whole_documents_of_one_version_and_the_new_one_at_its_next_look(
    place: dict[str, Any],
) -> None:
    index = open_index(place)
    bring_about(index, STATES[0], STATES[0])
    with child("read", place, states=STATES) as reader:
        assert reader.hear() == "open"
        for number, state in enumerate(STATES[1:], start=1):
            tell(reader, f"started {number}", "ready")
            bring_about(index, state, STATES[number - 1])
            tell(reader, f"completed {number}", "looked")
        reader.say("stop")
        report = json.loads(reader.hear())
    assert report["failures"] == []
    assert report["looks"] >= len(STATES)


@pytest.mark.slow
def test_a_process_that_reads_survives_a_writer_of_many_leaves(tmp_path: Path) -> None:
    # Chroma writes its vectors at every thousandth leaf; a process that loads them half written crashes.
    place = {"path": str(tmp_path / "kb")}
    states = [{"small": 1}, {"small": 2}]
    with open_index(place) as index, child("read", place, states=states) as reader:
        index.add(document("small", 1))
        assert reader.hear() == "open"
        tell(reader, "started 1", "ready")
        for number in range(6):
            index.add([document(f"large-{number}", 1, 1_500), document("small", 1 + number % 2)])
        index.delete([f"large-{number}" for number in range(6)])
        index.add(document("small", 2))
        tell(reader, "completed 1", "looked")
        reader.say("stop")
        report = json.loads(reader.hear())
    assert [failure for failure in report["failures"] if "large" not in failure] == []


def tell(reader: Child, word: str, answer: str) -> None:
    reader.say(word)
    assert reader.hear() == answer
