"""A file's name in an index, and back: a file has the same name under each spelling of its path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from leafspan.files._parts import Parts
from leafspan.splitting import MARKDOWN, Layout
from leafspan.values import Document


@dataclass(frozen=True, slots=True)
class FileDocument(Document):
    """A document that was read from a file."""

    file: str = ""
    path: Path = Path()
    spelling: str = ""
    lines_before: int = 0
    markup: str = MARKDOWN
    parts: Sequence[Parts] | None = None
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class FileNames:
    """File names: relative for files below the root folder, otherwise absolute. With ``/`` on every system."""

    root: Path | None = None
    _folders: dict[Path, Path] = field(default_factory=dict, init=False, repr=False, compare=False)

    def name(self, path: Path) -> str:
        """Return the name of the file with this path, which is absolute and without links."""
        if self.root is not None and path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return path.as_posix()

    def path(self, name: str) -> Path | None:
        """Return the path of the file with this name, or None for a relative name without a root.

        Links in its folder are followed. The file need not exist.
        """
        path = Path(name) if self.root is None else self.root / name
        if not path.is_absolute():
            return None
        if path.parent not in self._folders:
            self._folders[path.parent] = Path(os.path.realpath(path.parent))
        return self._folders[path.parent] / path.name


def below_folder(path: Path, folder: Path) -> PurePosixPath | None:
    """Return the path below the folder, or None if it is not below it."""
    return PurePosixPath(path.relative_to(folder).as_posix()) if path != folder and path.is_relative_to(folder) else None
