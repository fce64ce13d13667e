"""The files that commands write. One that is there stays, unless the user says that it is to be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafspan.checks import check_can_be_written
from leafspan.errors import InvalidArgument

_STDOUT = Path("-")

Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
"""The type of the option ``--force``."""


def is_standard_output(path: Path | None) -> bool:
    """Whether a path, ``-``, stands for standard output."""
    return path == _STDOUT


def check_output(path: Path | None, *, force: bool) -> None:
    """Check, before any work, that a command can write this file, and replaces none. Devices can be written to.

    Args:
        path: The file. None if none is to be written.
        force: Whether one may be replaced.

    Raises:
        InvalidArgument: if there is such a file, and it may not be replaced, or it cannot be written.
    """
    if path is not None and not force and not is_standard_output(path) and path.is_file():
        raise InvalidArgument(
            f"a file that is written must be new, got {str(path)!r}, which is there: choose another name, or replace it "
            "with --force"
        )
    if path is not None and not is_standard_output(path):
        check_can_be_written(path)
