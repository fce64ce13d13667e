"""Writes the pages as Markdown, a list of them (``llms.txt``) and all of them in one file (``llms-full.txt``)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.splitting import front_matter

_DOCSTRING = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
_NO_SENTENCE = ("#", "```", "|", "!", "- ", "---")
_REPEATED = ("reference/langchain.md", "reference/llamaindex.md")  # long, with the same options as the core's strategies


class Listed(NamedTuple):
    """A page in the order of the site.

    Attributes:
        section: The section that has the page, or "".
        title: Its title in the site.
        uri: Its address in the site.
    """

    section: str
    title: str
    uri: str


def listed(nav: Sequence[Any], section: str = "") -> Iterator[Listed]:
    """The pages of a site in their order."""
    for entry in nav:
        if isinstance(entry, str):
            yield Listed(section, section or entry, entry)
            continue
        for title, there in entry.items():
            if isinstance(there, str):
                yield Listed(section, title, there)
            else:
                yield from listed(there, title)


def with_front_matter(source: str, text: str) -> str:
    """A page's text with the front matter of its source, which a skill needs."""
    front = front_matter(source).rstrip("\n")
    return f"{front}\n\n{text}" if front else text


def plain(markdown: str) -> str:
    """A page with the docstrings that it names."""
    return _DOCSTRING.sub(lambda found: _documented(found[1]), markdown)


def write(folder: Path, name: str, description: str, nav: Sequence[Any], pages: Mapping[str, str]) -> None:
    """Write each page, the list of pages, and the file with all pages except the repeated ones."""
    lines, everything = [f"# {name}", "", f"> {description}", ""], []
    before = ""
    for section, title, uri in listed(nav):
        text = plain(pages[uri])
        path = folder / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if section != before:
            lines += ["", f"## {section}", ""]
            before = section
        lines.append(f"- [{title}]({uri}): {first_sentence(text)}")
        if uri not in _REPEATED:
            everything.append(text)
    (folder / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "llms-full.txt").write_text("\n\n".join(everything), encoding="utf-8")


def first_sentence(text: str) -> str:
    """The first sentence of a page after its heading, without links."""
    paragraphs = (each for each in text.split("\n\n") if each.strip() and not each.lstrip().startswith(_NO_SENTENCE))
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(next(paragraphs, "").split()))
    return re.split(r"(?<=[.!?]) ", words)[0]


def _documented(path: str) -> str:
    """The documentation of a name: its call, its docstring, and its public methods with theirs."""
    thing = _found(path)
    name = path.rpartition(".")[2]
    parts = [f"## {name}", "", f"```python\n{name}{_signature(thing)}\n```", "", inspect.getdoc(thing) or ""]
    for method in sorted(vars(thing)) if inspect.isclass(thing) else ():
        function = getattr(thing, method)
        if not method.startswith("_") and inspect.isroutine(function) and function.__doc__:
            parts += ["", f"### {name}.{method}", "", f"```python\n{method}{_signature(function)}\n```", ""]
            parts.append(inspect.getdoc(function) or "")
    return "\n".join(parts)


def _found(path: str) -> Any:
    package, _, name = path.rpartition(".")
    try:
        return getattr(import_module(package), name)
    except ModuleNotFoundError:
        return getattr(_found(package), name)


def _signature(thing: Any) -> str:
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return ""
