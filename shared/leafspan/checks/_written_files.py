"""Writes files, and checks before long work that its result can be written."""

from __future__ import annotations

import os
from pathlib import Path

from leafspan.checks._options import check_path
from leafspan.checks._reasons import reason_of
from leafspan.errors import InvalidArgument


def check_can_be_written(path: str | Path) -> None:
    """Check that a file can be written, as far as possible without writing it."""
    check_path("a file that is written", path)
    file = Path(path)
    if file.is_dir():
        raise _unwritable(file, "it is a folder")
    if file.is_symlink() and not file.exists():  # otherwise the link's author would choose the file to create
        raise _unwritable(file, "it is a link to a file that does not exist")
    if not file.parent.is_dir():
        raise _unwritable(file, "its folder does not exist; create it first")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise _unwritable(file, "permission denied")


def write_file(path: str | Path, text: str) -> None:
    """Write a text to a file in UTF-8. An existing file is replaced."""
    check_can_be_written(path)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(Path(path), reason_of(error)) from error


def _unwritable(file: Path, why: str) -> InvalidArgument:
    return InvalidArgument(f"cannot write to {str(file)!r}: {why}")
