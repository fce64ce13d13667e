"""Yields the files in a folder and below it, in the order of their paths, without following links."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

AN_INDEX = "index"
"""The kind of a folder that holds an index."""

# Names of an index's own files and folders. Only indexes have the first ones.
_MARK = re.compile(r"chroma\.sqlite3|leafspan\.(?:changes|files|lock|segments|vectors)")
_OWN = re.compile(rf"(?:{_MARK.pattern}).*|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}")


class NotRead(NamedTuple):
    """A file or folder that is not read, and why."""

    path: Path
    reason: str


class LeftOut(NamedTuple):
    """A file that is left out: it is hidden, of another kind, or a broken link; or a folder that holds an index."""

    path: Path
    kind: str


def find_files(
    folder: Path, *, takes: Callable[[Path], bool], enters: Callable[[Path], bool]
) -> Iterator[Path | NotRead | LeftOut]:
    """Yield a folder's files to read, its unreadable folders, and what is left out.

    Links that stay in the folder are skipped, since their targets are found anyway. So nothing is found twice, and loops
    of links do no harm. A hidden folder is left out as a whole, and so is a folder that holds an index. If the given
    folder holds one, only the index's own files in it are left out.
    """
    waiting = [iter([folder])]
    while waiting:
        if (path := next(waiting[-1], None)) is None:
            waiting.pop()
            continue
        try:
            is_link, is_folder = path != folder and _is_link(path), path.is_dir()
            is_there = not is_link or path.exists()
            names = sorted(os.listdir(path)) if path == folder or (is_folder and not is_link and enters(path)) else None
        except OSError as error:  # its path is too long, or its folder must not be searched: it may be a wanted file
            if path == folder or takes(path) or enters(path):
                yield NotRead(path, error.strerror or str(error))
            continue
        if is_link:
            if (takes(path) or (enters(path) and is_folder)) and not _leads_into(path, folder):
                yield NotRead(path, "it is a link that leads out of the folder")
            elif not is_there:
                yield LeftOut(path, "links to nothing")
        elif names is not None:
            if any(map(_MARK.fullmatch, names)):
                yield LeftOut(path, AN_INDEX)
                names = [name for name in names if path == folder and not _OWN.fullmatch(name)]
            waiting.append(iter([path / name for name in names]))
        elif is_folder or not takes(path):
            yield LeftOut(path, _kind(path))
        else:
            yield path


def _kind(path: Path) -> str:
    """Return the kind of a file that is left out: its suffix, if any."""
    return "hidden" if path.name.startswith(".") else path.suffix.lower() or "without a suffix"


def _is_link(path: Path) -> bool:
    return path.is_symlink() or bool(getattr(path, "is_junction", bool)())


def _leads_into(link: Path, folder: Path) -> bool:
    return Path(os.path.realpath(link)).is_relative_to(folder)
