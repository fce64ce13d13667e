"""docs/coming-from.md taken apart: chapters, sections, tables, and what stands in backticks."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "coming-from.md").read_text()
PROSE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
SYSTEMS = ("Haystack", "gllm_retrieval", "LlamaIndex", "LangChain", "archi", "bookacle")


def chapter(system: str) -> str:
    """What the page says of a system."""
    return re.split(r"^## ", PROSE.split(f"\n## {system}\n")[1], flags=re.MULTILINE)[0]


@cache
def sections(system: str) -> dict[str, str]:
    """The section of each class that its title names; under "" what stands before the first section."""
    introduction, *others = re.split(r"^### ", chapter(system), flags=re.MULTILINE)
    found = {"": introduction}
    for section in others:
        title, _, text = section.partition("\n")
        found |= dict.fromkeys(in_backticks(title), text)
    return found


def rows(text: str) -> list[list[str]]:
    """The cells of each row in the tables of a text, without their heads."""
    lines = re.findall(r"^\|(.*)\|$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in line.split("|")] for line in lines if not line.startswith("---")]
    return [row for row in cells if row[0] != "parameter"]


def in_backticks(text: str) -> list[str]:
    """What stands in backticks, each once."""
    return list(dict.fromkeys(re.findall(r"`([^`]+)`", text)))


def parameters_on_page(system: str, name: str) -> set[str]:
    """The parameters in the first columns of a class's section, and of the introduction to its system."""
    of_system = sections(system)
    return {each for text in (of_system[""], of_system[name]) for row in rows(text) for each in in_backticks(row[0])}


def named_as_ours(text: str) -> list[str]:
    """The classes, and ``private_view``, that a section names after "Here:"."""
    found = re.search(r"Here:\s+(.*?)(?:\.\s|\n\n)", text, re.DOTALL)
    names = [each.split("(")[0] for each in in_backticks(found[1])] if found else []
    return [each for each in names if re.fullmatch(r"[A-Z]\w+|index\.\w+|private_view", each)]
