"""Reads lines of standard input for the argument ``-``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

from leafspan.errors import InvalidArgument

STDIN = "-"
"""The argument that means standard input."""

_MARK = "\ufeff"  # editors and PowerShell write it before the first line


def standard_input() -> TextIO:
    """Return standard input.

    Raises:
        InvalidArgument: if it is closed.
    """
    if sys.stdin is None:  # a process may have no standard input
        raise InvalidArgument("- reads standard input, which must be open, and is closed")
    return sys.stdin


def with_standard_input(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the arguments, with the lines of standard input instead of ``-``. Empty lines are left out.

    Each line is yielded as soon as it arrives, so that a program can read the answer before it writes the next line.

    Raises:
        InvalidArgument: if standard input is closed.
    """
    for argument in arguments:
        for each in lines() if argument == STDIN else [argument]:
            if (line := each.rstrip("\r\n")).strip():
                yield line


def one_text(argument: str) -> str:
    """Return the argument, or the text on standard input for ``-``.

    Raises:
        InvalidArgument: if standard input is closed.
    """
    return "".join(lines()).strip() if argument == STDIN else argument


def lines() -> Iterator[str]:
    """Yield the lines of standard input, without a byte order mark."""
    for number, line in enumerate(standard_input()):
        yield line if number else line.removeprefix(_MARK)
