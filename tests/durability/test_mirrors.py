"""A process that is killed while it makes or merges segments harms nobody, and readers follow a writer exactly."""

from __future__ import annotations

import itertools
import json
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

from leafspan import BM25, F, Index, Vector
from leafspan.segments import _mirror
from tests.durability.children import ForkServer, child
from tests.durability.versions import ALL, document, open_index

OLD = [(f"old-{number}", 1, 4) for number in range(6)]
NEW = [("old-1", 2, 3), ("old-2", 2, 5), *((f"new-{number}", 1, 4) for number in range(6))]
HOUR = 3600


def ask(index: Index) -> list[list[tuple[str, str, float]]]:
    """By words, with scores to the digit, and by vectors among all documents that have a version."""
    found = index.retrieve_many(["sentence number 3", "version 2 document"], BM25(), k=ALL, candidates=ALL)
    near = index.retrieve("anything", Vector(), k=ALL, candidates=ALL, where=F("version") < 2)
    return [[(passage.id, passage.text, passage.score) for passage in row] for row in [*found, near]]


@pytest.fixture(autouse=True)
def _few_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they are merged often."""
    monkeypatch.setattr(_mirror, "MOST_SEGMENTS", 3)


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with several small segments, and documents that are in no segment yet."""
    place = tmp_path_factory.mktemp("before") / "kb"
    with open_index({"path": str(place)}) as index:
        for each in OLD:
            index.add(document(*each))
            ask(index)
        index.add([document(*each) for each in NEW])
    return place


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str, str, float]]]:
    """What an index says that was never disturbed."""
    with open_index({"path": str(tmp_path_factory.mktemp("fresh") / "kb")}) as index:
        index.add([document(*each) for each in OLD if each[0] not in ("old-1", "old-2")])
        index.add([document(*each) for each in NEW])
        return ask(index)


def files(place: Path) -> list[Path]:
    return sorted(place.glob("leafspan.segments/*/*/*"))


def check(place: Path, expected: list[list[tuple[str, str, float]]]) -> None:
    """What the next process says is right, and half-written files are there for an hour at most."""
    with open_index({"path": str(place)}) as index:
        assert ask(index) == expected
    if unfinished := [path for path in files(place) if path.name.endswith(".writing")]:
        for path in unfinished:
            os.utime(path, (time.time() - HOUR, time.time() - HOUR))
        with open_index({"path": str(place)}) as index:
            assert ask(index) == expected
    assert all(path.name.endswith(".segment") for path in files(place))
    assert len(files(place)) <= 2 * 3


@pytest.mark.slow
def test_after_a_kill_before_any_step_of_making_and_merging_files_the_next_process_answers_right(
    tmp_path: Path, fork_server: ForkServer, before: Path, expected: list[list[tuple[str, str, float]]]
) -> None:
    # Steps are the beginning of a file, its middle, its renaming, and each removal.
    for step in itertools.count():
        place = shutil.copytree(before, tmp_path / f"step-{step}")
        code = fork_server.write({"path": str(place)}, mirror=True, die_at_file=step)
        assert code in (0, -signal.SIGKILL)
        check(place, expected)
        shutil.rmtree(place)
        if code == 0:
            break
    assert step > 12, "there are fewer steps than were to be tried"


@pytest.mark.slow
def test_after_a_kill_at_any_moment_the_next_process_answers_right(
    tmp_path: Path, fork_server: ForkServer, before: Path, expected: list[list[tuple[str, str, float]]]
) -> None:
    whole = shutil.copytree(before, tmp_path / "whole")
    started = time.perf_counter()
    assert fork_server.write({"path": str(whole)}, mirror=True) == 0
    seconds = time.perf_counter() - started
    moments = random.Random(3)
    for number in range(6):
        place = shutil.copytree(before, tmp_path / f"moment-{number}")
        fork_server.write(
            {"path": str(place)}, mirror=True, until=partial(time.sleep, moments.uniform(seconds / 3, seconds))
        )
        check(place, expected)


@pytest.mark.slow
def test_a_process_that_asks_by_words_sees_whole_documents_while_another_writes(tmp_path: Path) -> None:
    place = {"path": str(tmp_path / "kb")}
    names = ["apple", "pear", "plum"]
    with open_index(place) as index, child("ask", place, names=names, versions=8) as reader:
        index.add([document(name, 1) for name in names])
        assert reader.hear() == "open"
        for version in range(2, 8):
            index.add([document(name, version) for name in names])
            if version % 2:
                index.delete(names[: version % 3])
        index.add([document(name, 8) for name in names])
        reader.say("stop")
        report = json.loads(reader.hear())
    assert report["failures"] == []
    assert report["looks"] > 0
    # What it says after the writer is done.
    assert broken_of(report["last"], names, 8) == []


@pytest.mark.slow
def test_two_processes_that_ask_share_their_files(tmp_path: Path) -> None:
    place = {"path": str(tmp_path / "kb")}
    names = ["apple", "pear", "plum"]
    with open_index(place) as index:
        index.add([document(name, 1) for name in names])
        with child("ask", place, names=names, versions=5) as one, child("ask", place, names=names, versions=5) as other:
            assert one.hear() == other.hear() == "open"
            for version in range(2, 6):
                index.add([document(name, version) for name in names])
                time.sleep(0.1)
            for reader in (one, other):
                reader.say("stop")
                report = json.loads(reader.hear())
                assert report["failures"] == []
                assert broken_of(report["last"], names, 5) == []
        found = ask(index)
    assert len(found[0]) == 3 * 8
    assert not [path for path in files(Path(place["path"])) if path.name.endswith(".writing")]


def broken_of(passages: list[list[Any]], names: list[str], version: int) -> list[str]:
    """What is wrong with the texts (document, text) of a report, where all must be of this version."""
    texts = {name: document(name, version).text for name in names}
    found = {name: "".join(text for who, text in passages if who == name) for name in names}
    return [f"{name}: {found[name]!r}" for name in names if found[name] != texts[name]]
