"""What a file is called in an index, and back: the same file has the same name under each spelling of its path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from leafspan.values import Document


@dataclass(frozen=True, slots=True)
class FileDocument(Document):
    """A document that was read from a file.

    Args:
        file: Name of the file. Its documents have it as their id or as the beginning of it, unless the file gives them ids,
            or they have another spelling of it from an earlier version.
        path: Path of the file, absolute and without links.
    """

    file: str = ""
    path: Path = Path()


@dataclass(frozen=True, slots=True)
class FileNames:
    """The names of files: relative to a folder for those below it, otherwise absolute. With ``/`` on every system.

    Args:
        root: The folder, without links. None if all names are absolute.
    """

    root: Path | None = None

    def name(self, path: Path) -> str:
        """The name of the file with this path, which is absolute and without links."""
        if self.root is not None and path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return path.as_posix()

    def path(self, name: str) -> Path | None:
        """The path of the file with this name; None for a relative name without a root.

        An absolute name may be one that an earlier version made of a path with links; its folder's links are followed. The
        file need not exist.
        """
        path = Path(name)
        if path.is_absolute():
            return _real(path.parent) / path.name
        return None if self.root is None else self.root / path


@lru_cache(maxsize=4096)
def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def below_folder(path: Path, folder: Path) -> PurePosixPath | None:
    """The path below the folder, None if it is not below it."""
    return PurePosixPath(path.relative_to(folder).as_posix()) if path != folder and path.is_relative_to(folder) else None
