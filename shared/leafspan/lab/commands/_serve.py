"""``leafspan serve``: look at an index in a browser."""

from __future__ import annotations

import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from leafspan.checks import check_number
from leafspan.cli import (
    DEFAULT_FOLDER,
    STRATEGIES,
    EmbedderName,
    KnowledgeBase,
    Where,
    console,
    named_path,
    open_index,
    plain,
    served_view,
)
from leafspan.configuration import Config
from leafspan.lab.commands._files import load_configs

_FIRST = "relevant-segments"


def serve(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config",
            help="A configuration whose strategy users can choose. May be repeated; the first is the default.",
            parser=named_path,
            metavar="FILE",
        ),
    ] = None,
    where: Where = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1. 0: any free port.")] = 0,
    open_: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the browser. By default only from a terminal.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Most seconds to make a page.")] = 30.0,
) -> None:
    """Show an index in the browser: ask it, compare strategies, and look into documents and trees. Nothing is changed.

    The command prints the address. Only users of this machine who have the address can open the pages. With --where, the
    pages show only documents that match. Ctrl-C ends the server.
    """
    from leafspan.lab.serving import serve as serve_view

    check_number("timeout", timeout, above=0)
    chosen = _strategies(config or [])
    opening = sys.stdout.isatty() if open_ is None else open_

    def started(address: str) -> None:
        out = console()
        out.print(plain(f"serving {kb}, to this machine only; Ctrl-C ends it"))
        out.print(plain(address), soft_wrap=True)  # in one piece
        out.file.flush()
        if opening:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with open_index(kb, embedder, create=False) as opened:
        view = served_view(opened, where)
        view.warm()
        serve_view(view, chosen, port=port, timeout=timeout, started=started)


def _strategies(files: list[Path]) -> dict[str, Config]:
    """The available strategies, by name: first strategies from files, then the strategies that all commands know."""
    named = {name: Config(strategy=STRATEGIES[name].strategy) for name in (_FIRST, *STRATEGIES)}
    return {**load_configs(files, named), **named}
