"""``leafspan tune``: choose the weights of a strategy by one's own questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from leafspan.lab.commands._files import check_output
from leafspan.lab.commands._questions import Budgets, given_questions
from leafspan.lab.evaluation import BUDGETS
from leafspan.lab.evaluation import tune as tune_strategy


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
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help=f"The base: one of {', '.join(STRATEGIES)}, by default relevant-segments. If repeated, the others are "
            "tried. If not, other weights of its two searches are.",
            autocompletion=lambda: [*STRATEGIES],
        ),
    ] = None,
    config: ConfigFile = None,
    budget: Budgets = None,
    where: Where = None,
    held_out: Annotated[float, typer.Option(help="Share of the questions that only measure the result.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
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
    """Choose the best of several strategies, or weights, by one part of the questions, and check it by the other part.

    If it is not better there, the base stays. Use the file of -o with --config in other commands, and with
    Index.open(config=...) in programs.
    """
    check_output(output, force=force)
    if strategy and config is not None:
        raise InvalidArgument("give either --strategy or --config: a configuration has its own strategy")
    named = [strategy_named(each) for each in strategy or ()]
    first = Config.load(config) if config is not None else named[0] if named else None
    with open_index(kb, embedder, create=False) as opened:
        tuning = tune_strategy(
            opened,
            None if questions is None else given_questions(questions),
            named if len(named) > 1 else first,
            budgets=budget or BUDGETS,
            where=parse_filter(where),
            held_out=held_out,
            seed=seed,
        )
    if is_standard_output(output):
        console().print(plain(tuning.to_yaml().rstrip(), lines=True))
        return
    if output is not None:
        tuning.save(output)
    if as_json:
        print_json(tuning.to_dict())
        return
    console().print(plain(str(tuning), lines=True))
    if output is not None:
        kept = "the tuned configuration" if tuning.is_better else "the configuration as it was"
        console().print(plain(f"{output}: {kept}"))
