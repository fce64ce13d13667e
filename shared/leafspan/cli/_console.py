"""Standard input, output and error, and the files that commands write."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from leafspan.checks import check_can_be_written
from leafspan.errors import InvalidArgument
from leafspan.text import escaped_in_json, visible


def console(*, stderr: bool = False, wrap: bool = False) -> Console:
    """Return a console for the current standard output or standard error."""
    stream = (sys.stderr if stderr else sys.stdout) or io.StringIO()  # a process may have no stream
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # the encoding may not have all characters
    return Console(file=stream, soft_wrap=not (wrap or stream.isatty()), highlight=False)


def plain(text: str, style: str = "", *, lines: bool = False) -> Text:
    """Return a text that is printed literally: markup, terminal commands and invisible characters have no effect."""
    return Text(visible(text, lines=lines), style)


def without_blank_lines(text: str) -> str:
    """Return the text without blank lines at its start and white space at its end. Its first line keeps its indentation."""
    start = len(text) - len(text.lstrip())
    return text[max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1 :].rstrip()


_NAMES = 3


def shortened(text: str, characters: int) -> str:
    """Return the text on one line, cut to this number of characters. A cut text ends with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def first_names(names: Sequence[str]) -> str:
    """Return the first three names, and the number of the others."""
    return ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")


def print_json(value: Any, *, one_line: bool = False) -> None:
    """Print a value as JSON. Characters that the output cannot show, or a terminal would obey, are escaped."""
    text = escaped_in_json(json.dumps(value, indent=None if one_line else 2, ensure_ascii=False))
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:  # a file's name may have bytes that are not characters
        text = json.dumps(value, indent=None if one_line else 2)
    typer.echo(text)


_STDOUT = Path("-")

Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
"""The type of the option ``--force``."""


def is_standard_output(path: Path | None) -> bool:
    """Whether a path is ``-``, which means standard output."""
    return path == _STDOUT


def check_output(path: Path | None, *, force: bool) -> None:
    """Check, before any work, that a command can write this file, and replaces no other one. Devices can be written to."""
    if path is not None and not force and not is_standard_output(path) and path.is_file():
        raise InvalidArgument(
            f"an output file must not exist yet, got {str(path)!r}: choose another name, or replace the file with --force"
        )
    if path is not None and not is_standard_output(path):
        check_can_be_written(path)


STDIN = "-"
"""The argument that means standard input."""

_MARK = "\ufeff"  # editors and PowerShell write it before the first line


def standard_input() -> TextIO:
    """Return standard input."""
    if sys.stdin is None:  # a process may have no standard input
        raise InvalidArgument("- reads standard input, which must be open, and is closed")
    return sys.stdin


def with_standard_input(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the arguments, with the lines of standard input instead of ``-``. Empty lines are left out.

    Each line is yielded as soon as it arrives, so that a program can read the answer before it writes the next line.
    """
    for argument in arguments:
        for each in lines() if argument == STDIN else [argument]:
            if (line := each.rstrip("\r\n")).strip():
                yield line


def one_text(argument: str) -> str:
    """Return the argument, or the text on standard input for ``-``."""
    return "".join(lines()).strip() if argument == STDIN else argument


def lines() -> Iterator[str]:
    """Yield the lines of standard input, without a byte order mark."""
    for number, line in enumerate(standard_input()):
        yield line if number else line.removeprefix(_MARK)
