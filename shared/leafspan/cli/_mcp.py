"""``leafspan mcp``: serve an index to an agent."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from leafspan.agents import agent_tools, usual_strategies
from leafspan.checks import check_choice
from leafspan.cli._console import console, plain
from leafspan.cli._options import DEFAULT_FOLDER, ConfigFile, EmbedderName, KnowledgeBase, open_index, served_view
from leafspan.engines import is_address

_TOKEN = "LEAFSPAN_MCP_TOKEN"


def mcp(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    where: Annotated[
        str | None,
        typer.Option(
            help='Serve only documents that match a filter, such as \'F("tenant") == "a"\', or a filter of Chroma or '
            "Haystack as JSON.",
            metavar="FILTER",
        ),
    ] = None,
    writable: Annotated[bool, typer.Option("--writable", help="Let the agent add and delete documents.")] = False,
    about: Annotated[
        str, typer.Option(help="A short description of the documents, which the agent's model reads.")
    ] = "the documents",
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy", "-s", help=f"The only strategy that the agent can use: {', '.join(usual_strategies())}."
        ),
    ] = None,
    config: ConfigFile = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", help="Most passages, if the model gives no number. By default the configuration's, or no limit."
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Most words of a result, if the model gives no number. By default the configuration's, or 600."),
    ] = None,
    max_budget: Annotated[int, typer.Option(help="Most words that the model can ask for.")] = 3000,
    timeout: Annotated[float, typer.Option(help="Most seconds for each call.")] = 30.0,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Serve streamable HTTP on this port of 127.0.0.1 (0: any free port) instead of standard input and output. "
            f"Clients must send the token from the environment variable {_TOKEN}. Without it, a token is made and printed.",
        ),
    ] = None,
) -> None:
    """Serve an index to an agent by the Model Context Protocol (MCP). The agent can search, read and cite.

    It cannot change the index, unless --writable is given.
    """
    from leafspan.cli.mcp_server import HTTPPlace, make_server, serve_http, serve_stdio

    def print_place(place: HTTPPlace) -> None:
        out = console(stderr=True)
        out.print(plain(f"serving {kb} at {place.url}"))
        if _TOKEN not in os.environ:
            out.print(plain(f"Authorization: Bearer {place.token}"))

    def say_what_it_waits_for() -> None:
        if sys.stdin is not None and sys.stdin.isatty():  # a person started it, not a client
            console(stderr=True).print(plain(_waiting(kb, embedder)))

    if strategy is not None:
        check_choice("strategy", strategy, usual_strategies())
    with open_index(kb, embedder, create=False, config=config) as index:
        tools = agent_tools(
            served_view(index, where),
            strategies=None if strategy is None else usual_strategies()[strategy],
            about=about,
            k=k,
            budget=budget,
            max_budget=max_budget,
            writable=writable,
            timeout=timeout,
        )
        server = make_server(tools)
        if port is None:
            serve_stdio(server, started=say_what_it_waits_for)
        else:
            serve_http(server, port=port, token=os.environ.get(_TOKEN), started=print_place)


def _waiting(kb: str, embedder: str | None) -> str:
    """Return the text for a person who started the server by hand."""
    place = kb if is_address(kb) else Path(kb).absolute()
    model = "" if embedder is None else f" --embedder {embedder}"
    return (
        f"serving {kb} on standard input and output, and waiting for a client there: let an MCP client start "
        f"`leafspan mcp --kb {place}{model}` itself, or serve HTTP with --port; Ctrl-C ends it"
    )
