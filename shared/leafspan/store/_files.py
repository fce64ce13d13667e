"""Chroma's files in a folder: touched by one process at a time, and kept whole where one is killed at it."""

from __future__ import annotations

import pickletools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from leafspan.store._change_file import ChangeFile

_COPIES = "leafspan.vectors"
_VECTORS = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin")
_IDS = "index_metadata.pickle"
_POLL_SECONDS = 0.005  # often enough to get in between two calls of a writer


class Files:
    """Makes those who write or load Chroma's files take turns.

    Chroma writes its vectors into the files in place, every few thousand records, and cuts them from its log then.
    A process that loads them meanwhile crashes or fails; where one is killed meanwhile, nobody can open them any more.
    So before somebody may touch them they are copied, if they have changed since the last copy; and where the last to
    touch them did not get to the end, and did leave them torn, the copy is put back. Chroma then reads what is missing
    from its log, since it cuts that only when all files are written.
    """

    def __init__(self, path: Path, changes: ChangeFile) -> None:
        self._path = path
        self._changes = changes

    @contextmanager
    def held(self) -> Iterator[None]:
        """The files for oneself; waits as long as others have them, which is a call of Chroma's at a time."""
        lock = FileLock(self._path / "leafspan.files", thread_local=False)
        with lock.acquire(poll_interval=_POLL_SECONDS):
            if self._changes.touching:
                _restore(self._path)
            _copy(self._path)
            self._changes.touching = True
            yield  # after an error the files are looked at, as after a kill
            self._changes.touching = False

    def call(self, function: Callable[..., Any], /, **options: Any) -> Any:
        """What the function gives, with the files held."""
        with self.held():
            return function(**options)


def _copy(path: Path) -> None:
    for ids in path.glob(f"*/{_IDS}"):
        copy = path / _COPIES / ids.parent.name
        if _stamp(ids) != _stamp(copy / _IDS):
            coming = copy.with_suffix(".coming")
            shutil.rmtree(coming, ignore_errors=True)
            shutil.copytree(ids.parent, coming)
            shutil.rmtree(copy, ignore_errors=True)
            coming.rename(copy)


def _restore(path: Path) -> None:
    for header in path.glob(f"*/{_VECTORS[0]}"):
        segment = header.parent
        copy = path / _COPIES / segment.name
        if _is_whole(segment):
            continue
        if copy.is_dir():
            for name in (*_VECTORS, _IDS):
                shutil.copy2(copy / name, segment / name)
        else:
            shutil.rmtree(segment)  # killed at the first writing: everything is still in the log


def _is_whole(segment: Path) -> bool:
    """Whether the last writing got to its end: the ids are written last."""
    ids = segment / _IDS
    if not ids.exists():
        return True  # nothing was ever written, Chroma starts from its log
    if any((segment / name).stat().st_mtime_ns > ids.stat().st_mtime_ns for name in _VECTORS):
        return False
    try:
        with ids.open("rb") as file:
            for _ in pickletools.genops(file):
                pass
    except ValueError:
        return False
    return True


def _stamp(file: Path) -> tuple[int, int] | None:
    return (file.stat().st_mtime_ns, file.stat().st_size) if file.exists() else None
