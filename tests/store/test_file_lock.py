"""A lock that processes share through a file; tests/durability/test_waits.py has several processes."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from leafspan.engines.local import _file_lock
from leafspan.engines.local._file_lock import FileLock


def test_one_at_a_time_holds_a_lock(tmp_path: Path):
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert (first.is_locked, first.is_intact) == (False, False)
    assert first.try_acquire()
    assert (first.is_locked, first.is_intact) == (True, True)
    assert not second.try_acquire()
    assert not second.is_locked
    first.release()
    assert not first.is_locked
    assert second.try_acquire()
    second.release()


def test_a_lock_whose_file_was_deleted_is_not_intact(tmp_path: Path):
    lock = FileLock(tmp_path / "lock")
    assert lock.try_acquire()
    lock.path.unlink()
    assert (lock.is_locked, lock.is_intact) == (True, False)
    lock.path.touch()  # as another process does, which then locks this file
    assert not lock.is_intact
    lock.release()


def test_a_lock_is_waited_for_until_the_deadline_and_tried_once_at_least(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    holder, waiting = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert holder.acquire(time.monotonic() - 1)
    clock = iter([9.0, 9.5, 10.0])
    monkeypatch.setattr(_file_lock, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda seconds: None))
    assert not waiting.acquire(10.0)
    holder.release()
