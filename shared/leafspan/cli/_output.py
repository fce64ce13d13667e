"""The files that commands write. One that is there stays, unless the user says that it is to be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafspan.errors import InvalidArgument

_STDOUT = Path("-")

Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
"""The type of the option ``--force``."""


def is_standard_output(path: Path | None) -> bool:
    """Whether a path, ``-``, stands for standard output."""
    return path == _STDOUT


def check_not_there(path: Path | None, *, force: bool) -> None:
    """Check that a command that writes this file replaces none. Devices can be written to.

    Args:
        path: The file. None if none is to be written.
        force: Whether one may be replaced.

    Raises:
        InvalidArgument: if there is such a file, and it may not be replaced.
    """
    if path is not None and not force and not is_standard_output(path) and path.is_file():
        raise InvalidArgument(
            f"a file that is written must be new, got {str(path)!r}, which is there: choose another name, or replace it "
            "with --force"
        )
