"""``leafspan questions``: make questions from the documents of an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli import (
    DEFAULT_FOLDER,
    STDIN,
    AsJson,
    EmbedderName,
    Force,
    KnowledgeBase,
    Where,
    console,
    is_standard_output,
    lines,
    named_path,
    open_index,
    parse_filter,
    plain,
    print_json,
)
from leafspan.lab.commands._files import check_output
from leafspan.lab.evaluation import BUDGETS, Question, make_questions, plain_question, questions_in_lines, save_questions


def questions(
    output: Annotated[
        Path,
        typer.Argument(
            help="A new file, in JSON Lines, or - for standard output.",
            parser=named_path,
            metavar="FILE",
            show_default=False,
        ),
    ],
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    count: Annotated[int, typer.Option("--count", "-n", help="Most questions.")] = 50,
    words: Annotated[int, typer.Option(help="Number of words in a question.")] = 5,
    where: Where = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make questions for `leafspan eval`: a few typical words of a random leaf (smallest piece), with the leaf as answer.

    Such questions favour searches by words over searches by meaning. So add questions of your own to the file.
    """
    check_output(output, force=force)
    with open_index(kb, embedder, create=False) as opened:
        made = make_questions(opened, count, words=words, where=parse_filter(where), seed=seed)
    if is_standard_output(output):
        for each in made:
            print_json(plain_question(each), one_line=True)
        return
    save_questions(output, made)
    if as_json:
        print_json({"output": str(output), "questions": len(made)})
        return
    console().print(plain(f"{output}: {len(made)} questions, such as: {made[0].text}"))


Budgets = Annotated[
    list[int] | None,
    typer.Option(
        "--budget", help=f"Number of words to retrieve. May be repeated. By default {', '.join(map(str, BUDGETS))}."
    ),
]
"""The type of the option ``--budget``."""


def given_questions(file: Path) -> Path | list[Question]:
    """Return the file of questions, or the questions in the lines of standard input for ``-``."""
    return questions_in_lines(lines(), "standard input") if str(file) == STDIN else file
