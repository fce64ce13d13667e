"""The command ``leafspan``: its subcommands are thin faces of ``Index``."""

from __future__ import annotations

from typing import Annotated

import typer

from leafspan.cli import building_trees, showing_trees
from leafspan.cli.demo import demo
from leafspan.cli.doctor import doctor
from leafspan.cli.failing import CleanGroup
from leafspan.cli.indexing import index
from leafspan.cli.querying import query
from leafspan.cli.showing import show

__all__ = ["app"]

app = typer.Typer(
    cls=CleanGroup,
    help="Index texts, and retrieve passages from them with exact places.",
    no_args_is_help=True,
    add_completion=False,
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
    pass


for _command in (index, query, show, doctor, demo):
    app.command()(_command)

_tree = typer.Typer(help="Trees of summaries over the documents (RAPTOR): build them, look at them.", no_args_is_help=True)
_tree.command()(building_trees.build)
_tree.command()(showing_trees.show)
app.add_typer(_tree, name="tree")
