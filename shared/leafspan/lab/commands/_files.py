"""Files that commands read and write: configurations of strategies, and results."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from leafspan.checks import check_can_be_written
from leafspan.cli import is_standard_output
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument


def check_output(path: Path | None, *, force: bool) -> None:
    """Check, before any work, that a command can write this file, and replaces no other one. Devices can be written to."""
    if path is not None and not force and not is_standard_output(path) and path.is_file():
        raise InvalidArgument(
            f"an output file must not exist yet, got {str(path)!r}: choose another name, or replace the file with --force"
        )
    if path is not None and not is_standard_output(path):
        check_can_be_written(path)


def load_configs(files: Iterable[Path], taken: Collection[str]) -> dict[str, Config]:
    """Return configurations by their files' names, without suffixes."""
    loaded: dict[str, Config] = {}
    for file in files:
        if file.stem in {*loaded, *taken}:
            raise InvalidArgument(f"each strategy must have a name of its own, got {file.stem!r} twice: rename {file}")
        loaded[file.stem] = Config.load(file)
    return loaded
