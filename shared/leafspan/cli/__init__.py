"""The command ``leafspan``. Its subcommands only call methods of ``Index`` and print the results. The lab adds commands."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Annotated, Any

import typer

from leafspan.cli._console import (
    STDIN,
    CleanGroup,
    Force,
    console,
    is_standard_output,
    lines,
    plain,
    print_json,
    shortened,
    with_standard_input,
)
from leafspan.cli._mcp import mcp
from leafspan.cli._options import (
    DEFAULT_FOLDER,
    AsJson,
    ConfigFile,
    EmbedderName,
    KnowledgeBase,
    Where,
    named_path,
    open_index,
    parse_filter,
    served_view,
)
from leafspan.cli._query import STRATEGIES, k_of_query, query, strategy_named, with_answer_probability, worth_printing
from leafspan.cli._sync import index, sync
from leafspan.cli._tree import build_tree, show_tree, tree_lines
from leafspan.cli._upkeep import adopt, check, config, copy, delete, reembed, repair, show

__all__ = [
    "app",
    "AsJson",
    "ConfigFile",
    "DEFAULT_FOLDER",
    "EmbedderName",
    "Force",
    "KnowledgeBase",
    "STDIN",
    "STRATEGIES",
    "Where",
    "console",
    "is_standard_output",
    "k_of_query",
    "lines",
    "named_path",
    "open_index",
    "parse_filter",
    "plain",
    "print_json",
    "served_view",
    "shortened",
    "strategy_named",
    "tree_lines",
    "with_answer_probability",
    "worth_printing",
    "with_standard_input",
]

_LAB = {
    "explain": "leafspan.lab.commands._explain:explain",
    "report": "leafspan.lab.commands._report:report",
    "serve": "leafspan.lab.commands._serve:serve",
    "questions": "leafspan.lab.commands._questions:questions",
    "eval": "leafspan.lab.commands._eval:evaluate",
    "tune": "leafspan.lab.commands._tune:tune",
    "demo": "leafspan.lab.commands._demo:demo",
}
"""The functions of the lab's commands, imported when they are needed."""


class _Commands(CleanGroup):
    """The commands of the core and of the lab."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all names, in the order of ``leafspan --help``."""
        return [*super().list_commands(ctx), *_LAB]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with that name, or None if it does not exist."""
        if cmd_name not in _LAB:
            return super().get_command(ctx, cmd_name)
        module, _, function = _LAB[cmd_name].partition(":")
        alone = typer.Typer(add_completion=False)
        alone.command(name=cmd_name)(getattr(import_module(module), function))
        return typer.main.get_command(alone)


app = typer.Typer(
    cls=_Commands,
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
    # Its message about a broken file becomes the reason for skipping the file, printed beside the file's name.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)


for _command in (index, sync, adopt, query, config, show, delete, copy, reembed, check, repair, mcp):
    app.command()(_command)

_tree = typer.Typer(help="Build trees of summaries over the documents (RAPTOR), and print them.", no_args_is_help=True)
_tree.command("build")(build_tree)
_tree.command("show")(show_tree)
app.add_typer(_tree, name="tree")
