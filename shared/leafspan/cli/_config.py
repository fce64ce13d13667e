"""``leafspan config``: check a configuration, or print what one can say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli._console import console, plain, print_json
from leafspan.cli._options import AsJson
from leafspan.config import config_text
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.lexical import Analyzer, BM25Settings
from leafspan.splitting import HierarchicalSplitter
from leafspan.strategies import DEFAULT


def config(
    file: Annotated[
        Path | None, typer.Argument(help="A configuration to check. By default the default configuration is printed.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Also print options with their default values.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema, which editors use to complete and check the file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a configuration, and print it. Without a file, print the default configuration, which you can save and change.

    Use the file with --config in other commands, and with Index.open(config=...) in programs.
    """
    if schema:
        if file is not None or full:
            raise InvalidArgument("give either a file or --schema: the schema is the same for all files")
        print_json(Config.schema())
        return
    settings = _default() if file is None else Config.load(file)
    if as_json:
        print_json(settings.to_dict(full=full or file is None))
        return
    console().print(plain(config_text(settings.to_dict(full=full or file is None)).rstrip(), lines=True))


def _default() -> Config:
    return Config(
        splitter=HierarchicalSplitter(),
        context_sentences=0,
        title_weight=0.3,
        analyzer=Analyzer(),
        bm25=BM25Settings(),
        strategy=DEFAULT,
        k=5,
    )
