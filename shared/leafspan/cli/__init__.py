"""The command ``leafspan``. Its subcommands only call methods of ``Index`` and print the results."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from leafspan.cli._adopt import adopt
from leafspan.cli._build_tree import build as build_tree
from leafspan.cli._config import config
from leafspan.cli._delete import delete
from leafspan.cli._demo import demo
from leafspan.cli._errors import CleanGroup
from leafspan.cli._eval import evaluate
from leafspan.cli._explain import explain
from leafspan.cli._index import index
from leafspan.cli._mcp import mcp
from leafspan.cli._query import query
from leafspan.cli._questions import questions
from leafspan.cli._repair import check, repair
from leafspan.cli._report import report
from leafspan.cli._serve import serve
from leafspan.cli._show import show
from leafspan.cli._show_tree import show as show_tree
from leafspan.cli._sync import sync
from leafspan.cli._tune import tune

__all__ = ["app"]

app = typer.Typer(
    cls=CleanGroup,
    help="Index texts, and retrieve passages from them, each with its exact place in the text.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("leafspan"))
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    # What it says of a broken file is the reason why that is skipped, and stands beside the file's name.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)


for _command in (
    index,
    sync,
    adopt,
    query,
    explain,
    report,
    serve,
    questions,
    evaluate,
    tune,
    config,
    show,
    delete,
    check,
    repair,
    mcp,
    demo,
):
    app.command(name="eval" if _command is evaluate else None)(_command)

_tree = typer.Typer(help="Build trees of summaries over the documents (RAPTOR), and print them.", no_args_is_help=True)
_tree.command()(build_tree)
_tree.command()(show_tree)
app.add_typer(_tree, name="tree")
