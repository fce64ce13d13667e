"""Chroma's files in a folder: used by one process at a time, and restored if a process is killed while it writes them."""

from __future__ import annotations

import pickletools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from leafspan.store._change_file import ChangeFile

_BACKUPS = "leafspan.vectors"
_VECTORS = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin")
_IDS = "index_metadata.pickle"
_POLL_SECONDS = 0.005  # short enough to acquire the lock between two calls of a writer


class Files:
    """A lock on Chroma's files that all processes share, and a backup of them.

    Every few thousand records, Chroma overwrites its vector files in place and then removes the records from its log. A
    process that loads the files meanwhile crashes or fails. If the writing process is killed meanwhile, the files can no
    longer be opened.

    So the files are backed up before each use, if they have changed since the last backup. If the process that used them
    last was killed or failed, and has left them torn, the backup is restored. Chroma then reads what is missing from its
    log, since it removes records from the log only after all files are written.

    Args:
        path: Folder of the embedded Chroma.
        changes: Counter file of the folder, which notes that the files are in use.
    """

    def __init__(self, path: Path, changes: ChangeFile) -> None:
        self._path = path
        self._changes = changes

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A context in which no other process uses the files. Others use them for one call of Chroma at a time."""
        lock = FileLock(self._path / "leafspan.files", thread_local=False)
        with lock.acquire(poll_interval=_POLL_SECONDS):
            if self._changes.touching:
                _restore(self._path)
            _back_up(self._path)
            self._changes.touching = True
            yield  # after an error the mark stays, so that the files are checked as after a kill
            self._changes.touching = False

    def call(self, function: Callable[..., Any], /, **options: Any) -> Any:
        """The result of ``function(**options)``, called while the files are locked."""
        with self.locked():
            return function(**options)


def _back_up(path: Path) -> None:
    for ids in path.glob(f"*/{_IDS}"):
        backup = path / _BACKUPS / ids.parent.name
        if _time_and_size(ids) != _time_and_size(backup / _IDS):
            unfinished = backup.with_suffix(".coming")
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(ids.parent, unfinished)
            shutil.rmtree(backup, ignore_errors=True)
            unfinished.rename(backup)


def _restore(path: Path) -> None:
    for header in path.glob(f"*/{_VECTORS[0]}"):
        files = header.parent
        backup = path / _BACKUPS / files.name
        if _is_whole(files):
            continue
        if backup.is_dir():
            for name in (*_VECTORS, _IDS):
                shutil.copy2(backup / name, files / name)
        else:
            shutil.rmtree(files)  # killed during the first write: all records are still in the log


def _is_whole(files: Path) -> bool:
    """Whether the last write of these files was completed. Chroma writes the ids last."""
    ids = files / _IDS
    if not ids.exists():
        return True  # nothing has been written yet: Chroma starts from its log
    if any((files / name).stat().st_mtime_ns > ids.stat().st_mtime_ns for name in _VECTORS):
        return False
    try:
        with ids.open("rb") as file:
            for _ in pickletools.genops(file):
                pass
    except ValueError:
        return False
    return True


def _time_and_size(file: Path) -> tuple[int, int] | None:
    return (file.stat().st_mtime_ns, file.stat().st_size) if file.exists() else None
