"""``leafspan mcp``: serve an index to an agent."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from leafspan.agents import agent_tools, usual_strategies
from leafspan.checks import check_choice
from leafspan.cli._console import console, plain
from leafspan.cli._options import DEFAULT_FOLDER, ConfigFile, EmbedderName, KnowledgeBase, open_index, served_view
from leafspan.engines import is_address
from leafspan.errors import InvalidArgument

_TOKEN = "LEAFSPAN_MCP_TOKEN"
_CLIENTS = {
    "claude-code": (".mcp.json", "mcpServers"),
    "claude-desktop": ("", "mcpServers"),  # the folder depends on the system
    "cursor": ("~/.cursor/mcp.json", "mcpServers"),
    "gemini-cli": ("~/.gemini/settings.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
    "windsurf": ("~/.codeium/windsurf/mcp_config.json", "mcpServers"),
}
"""Each client's file of settings, and the key of the servers in it."""

_PRINTED = ("codex", "json")


def mcp(
    context: typer.Context,
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
    connector: Annotated[
        bool,
        typer.Option("--connector", help="Offer search and fetch, as ChatGPT's connectors and deep research need them."),
    ] = False,
    install: Annotated[
        str | None,
        typer.Option(
            help="Add the server with these options to a client's settings, and end: "
            f"{', '.join(_CLIENTS)}; or print the settings: {', '.join(_PRINTED)}.",
            metavar="CLIENT",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the server in these settings. By default leafspan-FOLDER.")] = "",
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
    from leafspan.cli.mcp_server import HTTPPlace, connector_tools, make_server, serve_http, serve_stdio

    def print_place(place: HTTPPlace) -> None:
        out = console(stderr=True)
        out.print(plain(f"serving {kb} at {place.url}"))
        if _TOKEN not in os.environ:
            out.print(plain(f"Authorization: Bearer {place.token}"))

    def say_what_it_waits_for() -> None:
        if sys.stdin is not None and sys.stdin.isatty():  # a person started it, not a client
            console(stderr=True).print(plain(_waiting(kb, embedder)))

    if install is not None:
        check_choice("install", install, (*_CLIENTS, *_PRINTED))
        if port is not None:
            raise InvalidArgument("--install must be without --port: the client starts the server itself")
    if connector and writable:
        raise InvalidArgument("--connector must be without --writable: it has only search and fetch")
    if strategy is not None:
        check_choice("strategy", strategy, usual_strategies())
    with open_index(kb, embedder, create=False, config=config) as index:
        view = served_view(index, where)
        tools = agent_tools(
            view,
            strategies=None if strategy is None else usual_strategies()[strategy],
            about=about,
            k=k,
            budget=budget,
            max_budget=max_budget,
            writable=writable,
            timeout=timeout,
        )
        if connector:
            tools = connector_tools(tools[0], tools[1])
        server = make_server(view, tools, with_links=not connector, timeout=timeout)
        if install is not None:
            _install(install, kb, name, context)
        elif port is None:
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


def _install(client: str, kb: str, name: str, context: typer.Context) -> None:
    """Write the server's settings for a client, or print them."""
    arguments = ["-m", "leafspan", "mcp", "--kb", kb if is_address(kb) else str(Path(kb).absolute())]
    for each in context.command.params:
        value = context.params[str(each.name)]
        if each.name not in ("kb", "install", "name") and value != each.get_default(context):
            arguments.append(each.opts[0])
            arguments += [] if value is True else [str(value.absolute() if isinstance(value, Path) else value)]
    name = name or re.sub(r"[^\w-]+", "-", f"leafspan-{Path(kb).absolute().name}", flags=re.ASCII)
    entry = {"command": sys.executable, "args": arguments}
    if client == "codex":  # TOML writes strings and lists as JSON does
        lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
        print(f"[mcp_servers.{name}]", *lines, sep="\n")
    elif client == "json":
        print(json.dumps({"mcpServers": {name: entry}}, indent=2))
    else:
        place, key = _CLIENTS[client]
        if client == "claude-desktop":
            place = str(_claude_desktop())
        file = Path(place).expanduser().resolve()
        _write_settings(file, key, name, {"type": "stdio", **entry} if client == "vscode" else entry)
        console(stderr=True).print(plain(f"{name} is in {file}: start {client} again"))


def _claude_desktop() -> Path:
    from platformdirs import user_config_path

    return user_config_path("Claude", appauthor=False, roaming=True) / "claude_desktop_config.json"


def _write_settings(file: Path, key: str, name: str, entry: Mapping[str, Any]) -> None:
    """Set one server of a file of settings. The rest of the file stays."""
    try:
        settings = json.loads((file.exists() and file.read_text("utf-8-sig").strip()) or "{}")
        settings[key] = {**settings.get(key, {}), name: entry}
    except (ValueError, TypeError, AttributeError):
        raise InvalidArgument(
            f"{file} must be JSON with an object {key!r} and no comments: add by hand what --install json prints"
        ) from None
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(settings, indent=2, ensure_ascii=False), "utf-8")
        if file.exists():
            shutil.copymode(file, unfinished)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
