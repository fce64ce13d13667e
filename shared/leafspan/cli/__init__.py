"""The command ``leafspan``: its subcommands are thin faces of ``Index``."""

from __future__ import annotations

from typing import Annotated

import typer

from leafspan.cli import _build_tree as building_trees
from leafspan.cli import _show_tree as showing_trees
from leafspan.cli._demo import demo
from leafspan.cli._doctor import doctor
from leafspan.cli._errors import CleanGroup
from leafspan.cli._index import index
from leafspan.cli._query import query
from leafspan.cli._show import show

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
