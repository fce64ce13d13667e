"""A killed sync loses nothing that its source has, and the next sync completes the index."""

from __future__ import annotations

import itertools
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability.children import ForkServer
from tests.durability.versions import document, open_index, records
from tests.profiles import quick

BATCH = 13  # so that the documents are written in several groups
OLD = {"same.md": 1, "changed.md": 1, "gone.md": 1, "other.md": 1, "lost.md": 1}
NEW = {"same.md": 1, "changed.md": 2, "new.md": 1, "other.md": 2, "newer.md": 1}


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A folder of files that have changed since they were indexed, and the index beside it, which has another document, too."""
    place = tmp_path / "before"
    write_files(place, OLD)
    with open_index({"path": str(place / "kb")}) as index:
        index.sync(place / "docs")
        index.add(document("beside", 1))
        index.build_tree()
    shutil.rmtree(place / "docs")
    write_files(place, NEW)
    return place


def write_files(place: Path, files: dict[str, int]) -> None:
    (place / "docs").mkdir(parents=True)
    for name, version in files.items():
        (place / "docs" / name).write_text(document(name, version).text)


@pytest.mark.slow
def test_after_a_kill_before_any_step_of_a_sync_the_next_sync_finishes_it(
    tmp_path: Path, fork_server: ForkServer, before: Path
) -> None:
    undisturbed = shutil.copytree(before, tmp_path / "undisturbed")
    with open_index({"path": str(undisturbed / "kb")}) as index:
        index._store.batch = BATCH
        index.sync(undisturbed / "docs")
        expected = records(index), records(index, "kb.tree")
    wanted = {f"docs/{name}": document(name, version).text for name, version in NEW.items()}
    for step in itertools.count():
        place = shutil.copytree(before, tmp_path / f"step-{step}")
        code = fork_server.write({"path": str(place / "kb")}, sync=str(place / "docs"), batch=BATCH, die=step)
        with open_index({"path": str(place / "kb")}) as index:
            there = {info.id for info in index.documents()}
            assert {f"docs/{name}" for name in OLD.keys() & NEW.keys()} | {"beside"} <= there
            index._store.batch = BATCH
            index.sync(place / "docs")
            assert {info.id: index.get(info.id).text for info in index.documents() if info.id != "beside"} == wanted
            assert (records(index), records(index, "kb.tree")) == expected
            assert index.sync(place / "docs", dry_run=True).unchanged == tuple(sorted(wanted))
            assert index.repair() == []
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step > 20, "the sync has fewer steps than were to be tried"


@pytest.mark.parametrize("step", quick(1, [9, 3, 17]))
def test_a_killed_sync_is_finished_by_the_next(tmp_path: Path, fork_server: ForkServer, before: Path, step: int) -> None:
    job = {"sync": str(before / "docs"), "batch": BATCH}
    assert fork_server.write({"path": str(before / "kb")}, die=step, **job) == -signal.SIGKILL
    with open_index({"path": str(before / "kb")}) as index:
        index.sync(before / "docs")
        assert {info.id for info in index.documents()} == {"beside", *(f"docs/{name}" for name in NEW)}
        assert index.get("docs/changed.md").text == document("changed.md", 2).text
        assert index.repair() == []
