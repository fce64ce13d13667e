"""What `-` stands for: the lines of standard input, in place of an argument."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

from leafspan.errors import InvalidArgument

STDIN = "-"
"""The argument that stands for standard input."""

_MARK = "\ufeff"  # what editors and PowerShell write before the first line


def standard_input() -> TextIO:
    """Standard input.

    Raises:
        InvalidArgument: if it is closed.
    """
    if sys.stdin is None:  # a process may have been given none
        raise InvalidArgument("standard input must be open where - stands for it, and is closed")
    return sys.stdin


def with_standard_input(arguments: Iterable[str]) -> Iterator[str]:
    """The arguments, with the lines of standard input in place of ``-``. Empty lines are left out.

    A line is there as soon as it has come in, so that a program can read the answer before it writes the next one.

    Raises:
        InvalidArgument: if standard input is closed.
    """
    for argument in arguments:
        for each in lines() if argument == STDIN else [argument]:
            if (line := each.rstrip("\r\n")).strip():
                yield line


def one_text(argument: str) -> str:
    """The argument, or the text on standard input for ``-``.

    Raises:
        InvalidArgument: if standard input is closed.
    """
    return "".join(lines()).strip() if argument == STDIN else argument


def lines() -> Iterator[str]:
    """The lines of standard input, without a byte order mark."""
    for number, line in enumerate(standard_input()):
        yield line if number else line.removeprefix(_MARK)
