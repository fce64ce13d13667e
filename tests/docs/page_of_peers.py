"""Parses docs/coming-from.md: its tables, and the names in backticks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text()
PROSE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
SYSTEMS = ("Haystack", "gllm_retrieval", "LlamaIndex", "LangChain")


def chapter(title: str) -> str:
    """What the page says under a heading."""
    return re.split(r"^## ", PROSE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of each row in the table of a text, without its head."""
    lines = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


def in_backticks(text: str) -> list[str]:
    """The texts in backticks, each once."""
    return list(dict.fromkeys(re.findall(r"`([^`]+)`", text)))


def at_a_glance() -> Iterator[tuple[str, list[list[str]]]]:
    """The names in each row of the first table: ours, and each system's."""
    for ours, *cells in rows(chapter("At a glance")):
        yield ours, [in_backticks(cell) for cell in cells]


def parameters_in(cell: str) -> Iterator[tuple[str, str, str | None]]:
    """Class, parameter and default (None if it is not written) of each ``Class(parameter, other=default)`` in a cell."""
    for code in in_backticks(cell):
        name, _, inside = code.removesuffix(")").partition("(")
        for each in inside.split(", "):
            parameter, given, default = each.partition("=")
            yield name, parameter, default if given else None
