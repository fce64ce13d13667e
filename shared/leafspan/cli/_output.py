"""The files that commands write. An existing file is replaced only with ``--force``."""

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
    """Whether a path is ``-``, which means standard output."""
    return path == _STDOUT


def check_output(path: Path | None, *, force: bool) -> None:
    """Check, before any work, that a command can write this file, and replaces no other one. Devices can be written to.

    Args:
        path: The file. None if the command writes no file.
        force: Whether an existing file may be replaced.

    Raises:
        InvalidArgument: if the file exists and must not be replaced, or it cannot be written.
    """
    if path is not None and not force and not is_standard_output(path) and path.is_file():
        raise InvalidArgument(
            f"an output file must not exist yet, got {str(path)!r}: choose another name, or replace the file with --force"
        )
    if path is not None and not is_standard_output(path):
        check_can_be_written(path)
