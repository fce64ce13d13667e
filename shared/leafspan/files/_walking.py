"""The files in a folder and below it, in the order of their paths, without following links."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class NotRead(NamedTuple):
    """A file or folder that is not read, and why."""

    path: Path
    reason: str


def find_files(folder: Path, *, takes: Callable[[Path], bool], enters: Callable[[Path], bool]) -> Iterator[Path | NotRead]:
    """The files of a folder that are to be read, and the links and folders in it that cannot be followed.

    A link that stays in the folder is passed over: what it leads to is found where it stands. So nothing is found twice,
    and no loop of links is entered.

    Args:
        folder: The folder, without links.
        takes: Whether a file is to be read.
        enters: Whether a folder is to be looked into.
    """
    waiting = [iter([folder])]
    while waiting:
        if (path := next(waiting[-1], None)) is None:
            waiting.pop()
        elif _is_link(path) and path != folder:
            if (takes(path) or (enters(path) and path.is_dir())) and not _leads_into(path, folder):
                yield NotRead(path, "it is a link that leads out of the folder")
        elif path == folder or (path.is_dir() and enters(path)):
            try:
                waiting.append(iter([path / name for name in sorted(os.listdir(path))]))
            except OSError as error:
                yield NotRead(path, error.strerror or str(error))
        elif takes(path) and not path.is_dir():
            yield path


def _is_link(path: Path) -> bool:
    return path.is_symlink() or bool(getattr(path, "is_junction", bool)())


def _leads_into(link: Path, folder: Path) -> bool:
    return Path(os.path.realpath(link)).is_relative_to(folder)
