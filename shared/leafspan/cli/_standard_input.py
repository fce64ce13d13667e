"""What `-` stands for: the lines of standard input, in place of an argument."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from leafspan.evaluation import Question, questions_in_lines

STDIN = "-"
"""The argument that stands for standard input."""


def with_standard_input(arguments: Sequence[str]) -> list[str]:
    """The arguments, with the lines of standard input in place of ``-``. Empty lines are left out."""
    lines = (line for each in arguments for line in (sys.stdin if each == STDIN else [each]))
    return [line for each in lines if (line := each.rstrip("\r\n")).strip()]


def one_text(argument: str) -> str:
    """The argument, or the text on standard input for ``-``."""
    return sys.stdin.read().strip() if argument == STDIN else argument


def given_questions(file: Path) -> Path | list[Question]:
    """The file of questions, or the questions in the lines of standard input for ``-``.

    Raises:
        InvalidArgument: if a line of standard input is no question; the message says which.
    """
    return questions_in_lines(sys.stdin, "standard input") if str(file) == STDIN else file
