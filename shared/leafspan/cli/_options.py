"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from leafspan.checks import shown
from leafspan.errors import InvalidArgument


def named_path(text: str) -> Path:
    """The path of an option. An empty one, mostly an unset variable of a shell, would be the current folder.

    Raises:
        BadParameter: if it is empty.
    """
    if not text:
        raise typer.BadParameter("must not be empty")
    return Path(text)


KnowledgeBase = Annotated[Path, typer.Option("--kb", help="The folder of the index.", parser=named_path, metavar="FOLDER")]
"""The type of the option ``--kb``."""

NewKnowledgeBase = Annotated[
    Path,
    typer.Option(
        "--kb", help="The folder of the index, which is created if there is none.", parser=named_path, metavar="FOLDER"
    ),
]
"""The type of the option ``--kb`` of a command that creates the index."""

DEFAULT_FOLDER = Path("kb")
"""The folder of the index if ``--kb`` is not given."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
"""The type of the option ``--json``."""

Where = Annotated[
    str | None,
    typer.Option("--where", help="Filter on the metadata, in the dialect of Chroma or Haystack.", metavar="JSON"),
]
"""The type of the option ``--where``."""


def parse_filter(where: str | None) -> dict[str, Any] | None:
    """The filter from its JSON, None if there is none.

    Raises:
        InvalidArgument: if it is not a JSON object.
    """
    if where is None:
        return None
    try:
        condition = json.loads(where)
    except ValueError as error:
        raise InvalidArgument(f"where must be JSON, got {shown(where)}: {error}") from None
    except RecursionError:
        raise InvalidArgument(f"where must not be nested so deep, got {shown(where)}") from None
    if not isinstance(condition, dict):
        raise InvalidArgument(f'where must be a JSON object such as {{"year": 2020}}, got {shown(where)}')
    return condition
