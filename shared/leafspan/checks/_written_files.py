"""Files that are written: whether they can be, before the work whose result they hold, and errors if they cannot."""

from __future__ import annotations

import os
from pathlib import Path

from leafspan.checks._options import check_path
from leafspan.checks._reasons import reason_of
from leafspan.errors import InvalidArgument


def check_can_be_written(path: str | Path) -> None:
    """Check that a file can be written, as far as that can be told without writing it.

    Raises:
        InvalidArgument: if it is a folder, its folder does not exist, or this process may not write it.
    """
    check_path("a file that is written", path)
    file = Path(path)
    if file.is_dir():
        raise _unwritable(file, "it is a folder")
    if file.is_symlink() and not file.exists():  # its author would choose which file this process makes
        raise _unwritable(file, "it is a link to a file that does not exist")
    if not file.parent.is_dir():
        raise _unwritable(file, "there is no such folder; make it first")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise _unwritable(file, "permission denied")


def write_file(path: str | Path, text: str) -> None:
    """Write a text to a file in UTF-8. One that is there is replaced.

    Raises:
        InvalidArgument: if it cannot be written.
    """
    check_can_be_written(path)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(Path(path), reason_of(error)) from error


def _unwritable(file: Path, why: str) -> InvalidArgument:
    return InvalidArgument(f"a file that is written must be one that can be, got {str(file)!r}: {why}")
