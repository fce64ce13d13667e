"""Standard input, output and error, the files that commands write, and errors, warnings and waits as one line."""

from __future__ import annotations

import io
import json
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from leafspan.checks import reason_of
from leafspan.engines.chroma import chroma_failure
from leafspan.engines.local import WAITS
from leafspan.errors import InvalidArgument, LeafspanError
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


def shortened(text: str, characters: int) -> str:
    """Return the text on one line, cut to this number of characters. A cut text ends with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


_NAMES = 3


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


def is_standard_output(path: Path | None) -> bool:
    """Whether a path is ``-``, which means standard output."""
    return path == _STDOUT


STDIN = "-"  # the argument that means standard input
_MARK = "\ufeff"  # editors and PowerShell write it before the first line


def standard_input() -> TextIO:
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


def lines() -> Iterator[str]:
    """Yield the lines of standard input, without a byte order mark."""
    for number, line in enumerate(standard_input()):
        yield line if number else line.removeprefix(_MARK)


_PACKAGE = Path(__file__).parents[1]
_WITH_QUESTIONS = ("query", "explain")  # commands with one question
_INTERRUPTED = 130  # a shell's exit code for a command ended by Ctrl-C: 128 plus SIGINT's number


class CleanGroup(TyperGroup):
    """A group of commands. An expected error prints one red line, and exits with code 2; others keep their traceback.

    An interruption (Ctrl-C) prints one line that says what an ``add`` has stored so far, and exits with code 130.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and print an expected error."""
        try:
            with telling_of_waits(), _plain_warnings():
                return super().invoke(ctx)
        except (LeafspanError, OSError) as error:
            if isinstance(error, BrokenPipeError):  # the reader of the output is gone: `leafspan show | head`
                raise
            line = " ".join("; ".join([_message(error), *getattr(error, "__notes__", [])]).split())
            console(stderr=True).print(plain(f"error: {line}", "red"))
            raise typer.Exit(2) from None
        except KeyboardInterrupt as interruption:
            line = ": ".join(["interrupted", *getattr(interruption, "__notes__", [])])
            console(stderr=True).print(plain(line))
            raise typer.Exit(_INTERRUPTED) from None
        except BaseException as error:
            if (failure := chroma_failure(error)) is None:
                _hint_to_quote(error)
                raise
            remedy = "if it fails again, run `leafspan repair`, or index the files into a new folder"
            console(stderr=True).print(plain(f"error: {' '.join(failure.split())}; {remedy}", "red"))
            raise typer.Exit(2) from None


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print leafspan's own warnings as one line, without their place in the code."""
    usual = warnings.formatwarning

    def on_one_line(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if _PACKAGE not in Path(filename).parents:
            return usual(message, category, filename, lineno, line)
        return f"warning: {visible(' '.join(str(message).split()))}\n"

    warnings.formatwarning = on_one_line
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _hint_to_quote(error: Any) -> None:
    """Add a hint to the error about several arguments instead of one question. Typer does not export the error's class."""
    command = getattr(getattr(error, "ctx", None), "info_name", None)
    if command in _WITH_QUESTIONS and "extra argument" in str(getattr(error, "message", "")):
        error.message += ": put a question of several words in quotes"


def _message(error: LeafspanError | OSError) -> str:
    """Return an expected error's message. An operating system's error names its file first."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use {str(error.filename)!r}: {reason_of(error)}"
    return str(error)


class _OnStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Print it above the progress bar, if any."""
        from tqdm.std import tqdm

        with tqdm.external_write_mode(sys.stderr):
            console(stderr=True).print(plain(record.getMessage(), "yellow"))


@contextmanager
def telling_of_waits() -> Iterator[None]:
    """A context that prints a wait that takes longer than a moment."""
    logger, handler = logging.getLogger(WAITS), _OnStandardError()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
