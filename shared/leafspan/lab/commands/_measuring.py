"""The questions and budgets of the commands that measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli import STDIN, lines
from leafspan.lab.evaluation import BUDGETS, Question, questions_in_lines

Budgets = Annotated[
    list[int] | None,
    typer.Option(
        "--budget", help=f"Number of words to retrieve. May be repeated. By default {', '.join(map(str, BUDGETS))}."
    ),
]
"""The type of the option ``--budget``."""


def given_questions(file: Path) -> Path | list[Question]:
    """Return the file of questions, or the questions in the lines of standard input for ``-``.

    Raises:
        InvalidArgument: if standard input is closed, or a line of it is not a question. The message says which.
    """
    return questions_in_lines(lines(), "standard input") if str(file) == STDIN else file
