"""The next build continues a killed one: it uses the cached answers, and makes the same trees."""

from __future__ import annotations

import itertools
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from leafspan import Index, WriterBusy
from leafspan.flows import run
from leafspan.strategies import Tree
from tests import warm
from tests.durability.children import _ROOT, Child, ForkServer
from tests.durability.tree_child import DIED, build, open_index
from tests.lateness import ends_within
from tests.trees.building import check_laws, document, name_of, records, rows_of, same_records

# In fours: a has 4 + 1 summaries, b 2 + 1, c 1, d none, e 5 + 1 + 1; above the five of them there are 1 + 1.
COUNTS = {"a": 16, "b": 8, "c": 4, "d": 1, "e": 20}
CALLS = 5 + 3 + 1 + 0 + 7 + 2
KEPT = "tree.texts"


class TreeChild(Child):
    """A process of ``tree_child.py``."""

    def __init__(self) -> None:
        self.process = warm.Popen(
            [sys.executable, "-m", "tests.durability.tree_child"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


class TreeForkServer(ForkServer):
    """Processes that build trees."""

    def __init__(self) -> None:
        self._parent = TreeChild()
        self._mutex = threading.Lock()


@pytest.fixture(scope="module")
def fork_server() -> Iterator[TreeForkServer]:
    opened = TreeForkServer()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents, and no trees."""
    place = tmp_path_factory.mktemp("before") / "kb"
    with open_index({"path": str(place)}) as index:
        index.add([document(name, count) for name, count in COUNTS.items()])
    return place


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, before: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summaries and rows that a build makes which nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with open_index({"path": str(shutil.copytree(before, folder / "kb"))}) as index:
        built = build(index, {"log": str(folder / "log")})
        assert (built.asked, len(answers(folder / "log"))) == (CALLS, CALLS)
        assert check_laws(index) == 1
        return records(index), rows_of(index)


def answers(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def kept(index: Index) -> set[str]:
    """The answers that are kept."""
    names = {collection.name for collection in index.client.list_collections()}
    return {text for text, *_ in records(index, KEPT).values()} if f"{name_of(index)}.{KEPT}" in names else set()


def resume(index: Index, log: Path, undisturbed: tuple[dict[str, Any], dict[str, Any]], **job: Any) -> None:
    """Build again: nothing that was kept is asked for, and everything is as if nothing had been."""
    check_laws(index)
    asked, there = answers(log), kept(index)
    assert there <= set(asked)
    built = build(index, {"log": str(log), **job})
    again = answers(log)[len(asked) :]
    assert not there & set(again)
    assert len(again) == len(set(again)) == built.asked == CALLS - len(there)
    same_records(records(index), undisturbed[0])
    assert rows_of(index) == undisturbed[1]
    assert len(kept(index)) == CALLS
    assert check_laws(index) == 1
    assert index.repair() == []


@pytest.mark.slow
@pytest.mark.parametrize(("concurrency", "asynchronous"), [(1, False), (4, False), (4, True)])
def test_a_build_that_is_killed_asks_for_nothing_twice_but_what_was_in_flight(
    tmp_path: Path,
    fork_server: TreeForkServer,
    before: Path,
    undisturbed: tuple[dict[str, Any], dict[str, Any]],
    concurrency: int,
    asynchronous: bool,
) -> None:
    dice = random.Random(concurrency)
    moments = range(0, CALLS, 3) if concurrency == 1 else dice.sample(range(CALLS), 5)
    for die_at in moments:
        place = {"path": str(shutil.copytree(before, tmp_path / f"{die_at}"))}
        log = tmp_path / f"{die_at}.log"
        job = {"log": str(log), "concurrency": concurrency, "asynchronous": asynchronous}
        assert fork_server.write(place, die_at=die_at, **job) == DIED
        with open_index(place) as index:
            # What has been asked and is not kept was in flight.
            assert len(answers(log)) - len(kept(index)) <= concurrency
            resume(index, log, undisturbed, concurrency=concurrency)
        repeated = Counter(answers(log)) - Counter(set(answers(log)))
        assert repeated.total() <= concurrency


@pytest.mark.slow
def test_a_build_that_is_killed_again_and_again_comes_to_its_end(
    tmp_path: Path, fork_server: TreeForkServer, before: Path, undisturbed: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    log = tmp_path / "log"
    kills = 0
    while fork_server.write(place, log=str(log), die_at=4, concurrency=2) == DIED:
        kills += 1
        assert kills < CALLS
    assert kills > 2
    assert len(answers(log)) <= CALLS + 2 * kills
    with open_index(place) as index:
        resume(index, log, undisturbed)


@pytest.mark.slow
def test_a_build_killed_before_any_step_of_writing_is_continued(
    tmp_path: Path, fork_server: TreeForkServer, before: Path, undisturbed: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    for step in itertools.count():
        place = {"path": str(shutil.copytree(before, tmp_path / f"{step}"))}
        log = tmp_path / f"{step}.log"
        code = fork_server.write(place, log=str(log), die=step)
        with open_index(place) as index:
            assert index.retrieve("fire", Tree()) != []
            resume(index, log, undisturbed)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step > CALLS + 8  # each answer; two groups of rows and summaries


@pytest.mark.slow
def test_a_build_of_a_killed_client_of_a_server_is_continued(
    tmp_path: Path,
    fork_server: TreeForkServer,
    chroma_server: tuple[str, int],
    undisturbed: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    host, port = chroma_server

    def killed(number: int, **job: Any) -> int:
        place = {"host": host, "port": port, "name": f"{tmp_path.name}-{number}"}
        log = tmp_path / f"{number}.log"
        index = open_index(place)
        index.add([document(name, count) for name, count in COUNTS.items()])
        code = fork_server.write(place, log=str(log), **job)
        resume(index, log, undisturbed, concurrency=job.get("concurrency", 1))
        return code

    numbers = itertools.count()
    for die_at, concurrency in itertools.product((0, 5, CALLS - 1), (1, 4)):
        assert killed(next(numbers), die_at=die_at, concurrency=concurrency) == DIED
    for step in range(0, 100, 5):
        if killed(next(numbers), die=step) == 0:
            break
    assert step > CALLS


@pytest.mark.slow
@pytest.mark.parametrize("store", ["folder", "server"])
def test_two_processes_that_build_at_the_same_time_both_come_to_their_end(
    tmp_path: Path, before: Path, undisturbed: tuple[dict[str, Any], dict[str, Any]], store: str, request: Any
) -> None:
    if store == "folder":
        place: dict[str, Any] = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    else:
        host, port = request.getfixturevalue("chroma_server")
        place = {"host": host, "port": port, "name": tmp_path.name}
        open_index(place).add([document(name, count) for name, count in COUNTS.items()])
    builders = [TreeForkServer(), TreeForkServer()]
    failures: list[str] = []
    looks = 0
    try:
        with ThreadPoolExecutor(2) as pool, open_index(place) as index:
            job = {"concurrency": 2, "seconds": 0.05}
            codes = [
                pool.submit(each.write, place, log=str(tmp_path / f"{n}.log"), **job) for n, each in enumerate(builders)
            ]
            while not all(code.done() for code in codes):
                failures += strange(index, undisturbed[0])
                looks += 1
            assert [code.result() for code in codes] == [0, 0]
            failures += strange(index, undisturbed[0])
    finally:
        for each in builders:
            each.close()
    assert failures == []
    assert looks > 3
    with open_index(place) as index:
        same_records(records(index), undisturbed[0])
        assert rows_of(index) == undisturbed[1]
        assert check_laws(index) == 1
        assert index.repair() == []
        # What each of them asked for was kept, and is what the trees are made of.
        assert build(index, {"log": str(tmp_path / "last.log")}).asked == 0
        assert len(kept(index)) == CALLS


def strange(index: Index, undisturbed: dict[str, Any]) -> list[str]:
    """What is wrong with what a reader sees while others build: every leaf is found, and summaries as they will be."""
    wrong = []
    for strategy in (Tree(keep_covered_summaries=True), Tree(mode="traversal", top_k=1_000)):
        found = index.retrieve("fire and tea", strategy, k=1_000, candidates=1_000)
        leaves = {passage.id for passage in found if passage.summary is None}
        if len(leaves) != sum(COUNTS.values()):
            wrong.append(f"{strategy} finds {len(leaves)} leaves")
        ids = [passage.id for passage in found]
        if len(set(ids)) < len(ids):
            wrong.append(f"{strategy} finds one thing twice")
        for passage in found:
            if passage.summary and undisturbed[passage.id][0] != passage.text:
                wrong.append(f"{passage.id} is {passage.text!r}")
    return wrong


def test_a_builder_waits_for_the_writer_in_front_until_the_timeout(tmp_path: Path, before: Path) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    log = {"log": str(tmp_path / "log")}
    with open_index(place) as holder, open_index(place, timeout=0.5) as hasty, open_index(place) as patient:
        build(hasty, log)
        hasty.add(document("new", 8))
        writer = run(holder._store.start_writing(1.0, []))
        start = time.perf_counter()
        with ends_within(5), pytest.raises(WriterBusy, match=r"for more than the timeout of 0\.5 seconds"):
            build(hasty, log)
        assert time.perf_counter() - start >= 0.5
        threading.Timer(0.5, writer.stop).start()
        assert build(patient, log).built == ("new",)
        assert check_laws(patient) == 1


def test_keeping_an_answer_costs_little_however_many_are_kept_at_the_same_time(
    tmp_path: Path, before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {"path": str(shutil.copytree(before, tmp_path / "kb"))}
    with open_index(place) as index:
        index.build_tree()  # makes the collections
        folder = index._store._folder
        openings = []
        opening = folder._open
        monkeypatch.setattr(folder, "_open", lambda: openings.append(1) or opening())
        build(index, {"log": str(tmp_path / "log"), "concurrency": 4})
        assert len(openings) <= 1
        assert not index._store.interrupted
