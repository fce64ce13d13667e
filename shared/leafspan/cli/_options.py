"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.filters import Where as Filter
from leafspan.filters import filter_from_option


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
    typer.Option(
        "--where",
        help="Filter on the metadata, such as 'F(\"year\") >= 2020', or JSON in the dialect of Chroma or Haystack.",
        metavar="FILTER",
    ),
]
"""The type of the option ``--where``."""

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", help="A configuration in YAML or JSON: see `leafspan config`.", parser=named_path, metavar="FILE"
    ),
]
"""The type of the option ``--config``."""


def load_configs(files: Iterable[Path], taken: Collection[str]) -> dict[str, Config]:
    """Configurations by the names of their files, without endings.

    Args:
        files: The files.
        taken: Names that other strategies have.

    Raises:
        InvalidArgument: if two have the same name, or a file is no configuration.
    """
    loaded: dict[str, Config] = {}
    for file in files:
        if file.stem in {*loaded, *taken}:
            raise InvalidArgument(f"each strategy must have a name of its own, got {file.stem!r} twice: rename {file}")
        loaded[file.stem] = Config.load(file)
    return loaded


def parse_filter(where: str | None) -> Filter | dict[str, Any] | None:
    """The filter from its text, or from its JSON. None if there is none.

    Raises:
        InvalidArgument: if it is neither.
    """
    return None if where is None else filter_from_option(where)
