"""Prints errors, warnings and waits as one line."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from leafspan.checks import reason_of
from leafspan.cli._console import console, plain
from leafspan.engines.chroma import chroma_failure
from leafspan.engines.local import WAITS
from leafspan.errors import LeafspanError
from leafspan.text import visible

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
