"""``leafspan eval``: how well strategies answer one's own questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from leafspan.checks import check_choice
from leafspan.cli import (
    DEFAULT_FOLDER,
    STRATEGIES,
    AsJson,
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
    shortened,
    strategy_named,
)
from leafspan.configuration import Config
from leafspan.engines import is_address
from leafspan.errors import InvalidArgument
from leafspan.files import FileNames, real_path
from leafspan.index import Index
from leafspan.lab.commands._files import check_output, load_configs
from leafspan.lab.commands._questions import Budgets, given_questions
from leafspan.lab.evaluation import BUDGETS, Evaluation, Question, check_can_plot, read_questions
from leafspan.lab.evaluation import evaluate as evaluate_strategies
from leafspan.strategies import Strategy

_COMPARED = ("vector", "bm25", "hybrid", "relevant-segments")
_SHOWN = 5
"""Number of questions of each kind that the output of a comparison shows."""


def evaluate(
    questions: Annotated[
        Path,
        typer.Argument(
            help="A file of questions in JSON Lines, as `leafspan questions` makes it, or - for standard input.",
            show_default=False,
        ),
    ],
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help=f"One of {', '.join(STRATEGIES)}. May be repeated. By default {', '.join(_COMPARED)}.",
            autocompletion=lambda: [*STRATEGIES],
        ),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config",
            help="A configuration: its strategy is compared, with its candidates and min_score. May be repeated.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
    budget: Budgets = None,
    where: Where = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="The measure that compares the best two strategies, such as recall@300 or nDCG@10.", show_default=False
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="A new file for a plot of recall by budget (.png, .svg or .pdf).", parser=named_path, metavar="FILE"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write everything as JSON into this new file, or - as --json does.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Print how well strategies answer questions over an index, and on which questions the best two differ."""
    for file in (output, plot):
        check_output(file, force=force)
    wanted = given_questions(questions)
    if plot is not None:
        _check_plot(plot, wanted)
    named = _strategies(strategy or [], config or [])
    with open_index(kb, embedder, create=False) as opened:
        _warn_if_indexed(questions, kb, opened)
        results = evaluate_strategies(opened, wanted, named, budgets=budget or BUDGETS, where=parse_filter(where))
    if output is not None and not is_standard_output(output):
        results.save(output)
    if plot is not None:
        _draw(results, plot)
    if measure is not None:
        check_choice("--measure", measure, results.measures)
    if as_json or is_standard_output(output):
        print_json(results.to_dict())
        return
    console().print(plain(str(results), lines=True))
    _print_comparison(results, measure)


def _strategies(names: list[str], files: list[Path]) -> dict[str, Strategy | Config]:
    """The strategies to compare, by their names in the table."""
    named = {name: strategy_named(name) for name in names or (() if files else _COMPARED)}
    return {**named, **load_configs(files, named)}


def _warn_if_indexed(questions: Path, kb: str, opened: Index) -> None:
    """Warn if the questions are documents of the index, since each question would then find itself before its answer."""
    if is_address(kb):
        return
    source = FileNames(real_path(Path(kb).expanduser()).parent).name(real_path(questions))
    if any(each.metadata.get("source") == source for each in opened.documents()):
        remedy = "move it out of the folder, and sync again"
        console(stderr=True).print(
            plain(f"{questions} is in the index, so its questions find themselves: {remedy}", "yellow")
        )


def _check_plot(path: Path, questions: Path | Sequence[Question]) -> None:
    """Check, before all work, that recall can be drawn into a file."""
    check_can_plot(path)
    if not any(each.answers for each in read_questions(questions)):
        raise InvalidArgument("a plot needs questions with answers, got no question with answers: leave out --plot")


def _draw(evaluation: Evaluation, path: Path) -> None:
    """Draw recall against the budget."""
    figure = evaluation.plot()
    try:
        figure.savefig(path)
    except (ValueError, OSError) as error:
        raise InvalidArgument(
            f"--plot must be a file such as recall.svg that can be written, got {str(path)!r}: {error}"
        ) from error


def _print_comparison(evaluation: Evaluation, measure: str | None) -> None:
    """Print the difference of the two best strategies, and the questions on which they differ."""
    if len(evaluation.strategies) < 2:
        return
    used = evaluation.default_measure if measure is None else measure
    best, second = sorted(evaluation.strategies, key=lambda name: -evaluation.mean(name, used))[:2]
    comparison = evaluation.compare(best, second, used)
    out = console()
    out.print()
    out.print(plain(str(comparison)))
    for name, ids in ((best, comparison.wins), (second, comparison.losses)):
        if ids:
            out.print(plain(f"{name} does better on:", "bold"))
        for id_ in ids[:_SHOWN]:
            out.print(plain(f"  - {shortened(evaluation.questions[id_], 110)}"))
        if len(ids) > _SHOWN:
            out.print(plain(f"  and {len(ids) - _SHOWN} more", "dim"))
