"""A command that waits for another writer says so."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import pytest

from leafspan import Document, Index
from leafspan.engines.local import WAITS
from leafspan.engines.local._file_lock import FileLock
from tests.cli.test_cli import leafspan

TOLD = "another writer (this process) holds '{kb}'; waiting for it, up to 30 seconds"


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tea.md").write_text("Tea is hot.")
    assert leafspan("sync", "tea.md").exit_code == 0
    Path("tea.md").write_text("Tea is very hot.")
    return tmp_path / "kb"


@pytest.fixture
def held(kb: Path) -> threading.Thread:
    """Holds the writer's lock for two seconds."""
    lock = FileLock(kb / "leafspan.lock")
    assert lock.try_acquire()

    def let_go() -> None:
        time.sleep(2)
        lock.release()

    thread = threading.Thread(target=let_go)
    thread.start()
    return thread


def without_bars(said: str) -> str:
    """What was said, without bars of progress, which come after a second."""
    lines = (line.rpartition("\r")[2] for line in said.splitlines())
    return " ".join(line.strip() for line in lines if line.strip() and "%|" not in line)


def test_a_command_says_that_it_waits(held, kb):
    done = leafspan("sync", "tea.md")
    held.join()
    assert "0 added, 1 replaced" in done.stdout
    assert without_bars(done.stderr) == TOLD.format(kb=kb)


def test_a_program_can_log_it(held, kb, caplog, capsys):
    with caplog.at_level(logging.INFO, WAITS), Index.open(kb) as index:
        index.add(Document("bees", "Bees dance."), progress=False)
    held.join()
    assert [record.getMessage() for record in caplog.records] == [TOLD.format(kb=kb)]
    assert capsys.readouterr().err == ""


def test_short_waits_are_not_reported(kb):
    assert leafspan("sync", "tea.md").stderr == ""
