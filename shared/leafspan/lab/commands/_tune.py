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
            help="Questions in JSON Lines, as for `leafspan eval`, or -. By default made from the documents: weaker.",
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
            help=f"What may be changed, any number of times: one of {', '.join(get_args(Kind))}. By default weights.",
        ),
    ] = None,
    leaf_words: Annotated[
        list[int] | None,
        typer.Option(help="A further length of leaves to try, any number of times. Each needs a temporary index."),
    ] = None,
    budget: Budgets = None,
    where: Where = None,
    held_out: Annotated[float, typer.Option(help="Share of the questions to report on.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Keep what is measured in this file, and continue a tuning that was stopped.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the better configuration into this new file, in YAML or JSON, or - to print nothing else.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fit the weights of a strategy on some of the questions, and measure it on the others.

    A change that is not better there is dropped. Other commands take the file by --config, programs by
    Index.open(config=...).
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
