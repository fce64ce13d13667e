"""Options that several commands share."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import typer

from leafspan.cli._console import console, plain
from leafspan.engines import is_address
from leafspan.filters import Where as Filter
from leafspan.filters import filter_from_option
from leafspan.flows import run
from leafspan.index import Index
from leafspan.view import View


def named_path(text: str) -> Path:
    """Return an option's path. An empty path, mostly an unset shell variable, would mean the current folder."""
    if not text:
        raise typer.BadParameter("must not be empty")
    return Path(text)


def named_index(text: str) -> str:
    """Return an index's folder or address."""
    if not is_address(text):
        return str(named_path(text))
    if _PASSWORD.search(unquote(text)):
        raise typer.BadParameter("must have no password, since it is printed: set PGPASSWORD, or write it to ~/.pgpass")
    return text


_PASSWORD = re.compile(r"://[^@]*:.*@|password\s*=", re.IGNORECASE | re.DOTALL)  # also sslpassword
_PLACE = "The index: a folder, or an address such as http://host:port/name or postgresql://user@host/database."
KnowledgeBase = Annotated[str, typer.Option("--kb", help=_PLACE, parser=named_index, metavar="FOLDER")]

NewKnowledgeBase = Annotated[
    str, typer.Option("--kb", help=f"{_PLACE} A missing index is created.", parser=named_index, metavar="FOLDER")
]
"""The type of the option ``--kb`` of a command that creates the index."""

DEFAULT_FOLDER = "kb"  # the folder of the index if --kb is not given


def named_embedder(text: str) -> str:
    """Return an embedder's name. Its module may be in the current folder."""
    if ":" in text and "" not in sys.path:
        sys.path.insert(0, "")  # `python -m` looks there, too
    return text


EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        parser=named_embedder,
        help="The embedder: minilm, e5, wordllama (bundled), or your own as package.module:attribute, which is imported, "
        "also from the current folder. By default the index's embedder, if it is one of the first three.",
        metavar="NAME",
    ),
]


def open_index(kb: str, embedder: str | None, **options: Any) -> Index:
    """Open the index of ``--kb``, with the embedder of ``--embedder``."""
    return Index.open(kb, embedder=embedder, **options)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        help="Filter on the metadata, such as 'F(\"year\") >= 2020', or a filter of Chroma or Haystack as JSON.",
        metavar="FILTER",
    ),
]

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", help="A configuration in YAML or JSON: see `leafspan config`.", parser=named_path, metavar="FILE"
    ),
]


def parse_filter(where: str | None) -> Filter | dict[str, Any] | None:
    """The filter from its text, or from its JSON. None without a text."""
    return None if where is None else filter_from_option(where)


def served_view(index: Index, where: str | None) -> View:
    """Return the documents that match the filter of ``--where``, or all. Without documents, warn on standard error."""
    run(index._embedder.confirm(record=False))
    scope = parse_filter(where)
    view = index if scope is None else index.scoped(scope)
    if view.count() == 0:
        reason = "the index has no documents yet" if index.count() == 0 else f"no document matches --where {where}"
        console(stderr=True).print(plain(f"{reason}: nothing will be found", "yellow"))
    return view
