"""A writer that is killed while it writes the files for questions: all readers are right at once, and afterwards."""

from __future__ import annotations

import itertools
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leafspan import BM25, Hybrid, Index, Vector
from tests.durability.children import ForkServer
from tests.durability.test_kill import NAMES, NEW, OLD, Texts, versions
from tests.durability.versions import ALL, EMBEDDER, broken, document, open_index, records, text_of
from tests.indexing.test_verifying import alter, another_vector
from tests.profiles import quick

STRATEGIES = (Vector(), BM25(), Hybrid())


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with several segments of each kind, before the add that is killed."""
    place = tmp_path_factory.mktemp("before") / "kb"
    with open_index({"path": str(place)}) as index:
        for each in OLD:
            index.add(document(*each))
    return place


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, before: Path) -> dict[str, Any]:
    """The records after an add that nothing disturbed."""
    with open_index({"path": str(shutil.copytree(before, tmp_path_factory.mktemp("undisturbed") / "kb"))}) as index:
        index.add([document(*each) for each in NEW])
        return records(index)


def check_reader(index: Index, texts: Texts) -> None:
    """Each document is there in one of its versions, and every strategy answers with the whole of that one."""
    current = {name: text_of(index, name) for name in NAMES}
    for name, text in current.items():
        assert text in texts[name].values(), f"{name}: {text!r}"
    seen = {name: {version: text for version, text in texts[name].items() if text == current[name]} for name in NAMES}
    for strategy in STRATEGIES:
        passages = index.retrieve("which sentence number does a document say", strategy, k=ALL, candidates=ALL)
        assert broken(passages, seen, strategy) == []


def check_kill(place: Path, server: ForkServer, before: Path, undisturbed: dict[str, Any], step: int) -> bool:
    """Kill an add before this step, and look what readers see, and what the next add and the doctor make of it.

    Returns:
        Whether there was such a step.
    """
    shutil.copytree(before, place)
    where = {"path": str(place)}
    with open_index(where) as earlier, Index.open(place, embedder=EMBEDDER, read_only=True) as reading:
        for index in (earlier, reading):
            check_reader(index, versions(OLD))
        code = server.write(where, add=NEW, batch=ALL, often=True, die_at_write=[str(place / "leafspan.segments"), step])
        assert code in (0, -signal.SIGKILL)
        texts = versions(OLD, NEW) if code else versions(NEW)
        with Index.open(place, embedder=EMBEDDER, read_only=True) as later:
            for index in (earlier, reading, later):
                check_reader(index, texts)
        with open_index(where) as index:
            if step % 2:
                assert all(finding.repaired for finding in index.repair(verify=True))
                assert index.repair(verify=True) == []
            index.add([document(*each) for each in NEW])
            for each in (earlier, reading, index):
                check_reader(each, versions(NEW))
            assert records(index) == undisturbed
            assert index.repair(verify=True) == []
    shutil.rmtree(place)
    return code != 0


@pytest.mark.parametrize("step", quick(1, [4, 1, 9, 25]))
def test_after_a_kill_at_some_steps_of_writing_what_is_read_every_reader_is_right(
    tmp_path: Path, fork_server: ForkServer, before: Path, undisturbed: dict[str, Any], step: int
):
    assert check_kill(tmp_path / "kb", fork_server, before, undisturbed, step)


@pytest.mark.slow
def test_after_a_kill_at_any_step_of_writing_what_is_read_every_reader_is_right(
    tmp_path: Path, fork_server: ForkServer, before: Path, undisturbed: dict[str, Any]
):
    for step in itertools.count():
        if not check_kill(tmp_path / "kb", fork_server, before, undisturbed, step):
            break
    assert step > 40, "there are fewer steps than were to be tried"


@pytest.mark.slow
def test_after_a_kill_at_any_step_of_making_a_copy_again_the_next_repair_goes_on(
    tmp_path: Path, fork_server: ForkServer, before: Path
):
    wrong = shutil.copytree(before, tmp_path / "wrong")
    for path in sorted(wrong.glob("leafspan.segments/*/vectors/*.segment"))[:2]:
        alter(path, another_vector)
    for step in itertools.count():
        place = shutil.copytree(wrong, tmp_path / "kb")
        dying = [str(place / "leafspan.segments"), step]
        code = fork_server.write({"path": str(place)}, doctor=True, die_at_write=dying)
        assert code in (0, -signal.SIGKILL)
        with open_index({"path": str(place)}) as index:
            check_reader(index, versions(OLD))
            assert all(finding.repaired for finding in index.repair(verify=True))
            assert index.repair(verify=True) == []
            check_reader(index, versions(OLD))
        shutil.rmtree(place)
        if code == 0:
            break
    assert step > 4, "there are fewer steps than were to be tried"
