"""``leafspan tune``: fit options of a strategy on one's own questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from leafspan.cli import (
    DEFAULT_FOLDER,
    STRATEGIES,
    AsJson,
    ConfigFile,
    EmbedderName,
    Force,
    KnowledgeBase,
    Where,
    check_output,
    console,
    is_standard_output,
    named_path,
    open_index,
    parse_filter,
    plain,
    print_json,
    strategy_named,
)
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.lab.commands._measuring import Budgets, given_questions
from leafspan.lab.evaluation import BUDGETS
from leafspan.lab.tuning import Kind
from leafspan.lab.tuning import tune as tune_strategy


def tune(
    questions: Annotated[
        Path | None,
        typer.Argument(
            help="A file of questions as for `leafspan eval`, or -. By default, questions are made from the documents.",
            show_default=False,
        ),
    ] = None,
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            "-s",
            help=f"The strategy to start from: one of {', '.join(STRATEGIES)}. By default relevant-segments.",
            autocompletion=lambda: [*STRATEGIES],
        ),
    ] = None,
    config: ConfigFile = None,
    what: Annotated[
        list[str] | None,
        typer.Option(
            "--what",
            help=f"The options to change: {', '.join(get_args(Kind))}. May be repeated. By default weights.",
        ),
    ] = None,
    leaf_words: Annotated[
        list[int] | None,
        typer.Option(help="Another leaf length to try, in words. May be repeated. Each makes a temporary index."),
    ] = None,
    budget: Budgets = None,
    where: Where = None,
    held_out: Annotated[float, typer.Option(help="Share of the questions that only measure the result.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="File for the measured scores. A stopped tuning continues from it.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A new file for the better configuration, in YAML or JSON, or - to print only the configuration.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find better weights for a strategy with one part of the questions, and measure them with the other part.

    If they are not better there, the strategy stays as it is. Use the file of -o with --config in other commands, and with
    Index.open(config=...) in programs.
    """
    check_output(output, force=force)
    check_output(resume, force=True)
    if strategy is not None and config is not None:
        raise InvalidArgument("give either --strategy or --config: a configuration has its own strategy")
    named = None if strategy is None else strategy_named(strategy)
    with open_index(kb, embedder, create=False) as opened:
        found = tune_strategy(
            opened,
            None if questions is None else given_questions(questions),
            named if config is None else Config.load(config),
            options=what or ["weights"],  # type: ignore[arg-type]  # checked there
            leaf_words=leaf_words or (),
            budgets=budget or BUDGETS,
            where=parse_filter(where),
            held_out=held_out,
            seed=seed,
            resume=resume,
        )
    if is_standard_output(output):
        console().print(plain(found.to_yaml().rstrip(), lines=True))
        return
    if output is not None:
        found.save(output)
    if as_json:
        print_json(found.to_dict())
        return
    console().print(plain(str(found), lines=True))
    if output is not None:
        kept = "the tuned configuration" if found.is_better else "the configuration as it was"
        console().print(plain(f"{output}: {kept}"))
