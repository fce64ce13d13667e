"""``leafspan copy``: copy an index to another folder, server or database."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import AsJson, named_index
from leafspan.index import Index

_PLACES = "a folder, http://host:port/name or postgresql://user@host/database"


def copy(
    source: Annotated[str, typer.Argument(help=f"The index: {_PLACES}.", parser=named_index, metavar="FROM")],
    target: Annotated[
        str,
        typer.Argument(help="The copy: a place as for FROM. A missing one is created.", parser=named_index, metavar="TO"),
    ],
    name: Annotated[str, typer.Option("--name", help="Name of the index.")] = "kb",
    to_name: Annotated[str | None, typer.Option("--to-name", help="Name of the copy. By default the index's name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy an index with its vectors and trees. Nothing is embedded again.

    To continue an interrupted copy, run the command again. Both indexes can be searched meanwhile.
    """
    with Index.open(source, name=name, create=False) as opened:
        copied = opened.copy_to(target, name=name if to_name is None else to_name)
    if as_json:
        print_json(asdict(copied))
        return
    console().print(
        plain(
            f"{target}: {copied.documents:,} documents, {copied.leaves:,} leaves and {copied.summaries:,} summaries, as in "
            f"{source}; {copied.written:,} documents were written"
        )
    )
