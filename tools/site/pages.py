"""Maps the repository's pages to places in the site, and adapts their links."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/leafspan/leafspan"
AT_THE_ROOT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages outside of docs/, by their names in the site."""

_CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ATTRIBUTE = re.compile(r'\b(src|srcset|href)="([^"\s]+)"')


@dataclass(frozen=True)
class Link:
    """A link of a page to another file of the repository, or to a heading.

    Attributes:
        written: The link as the page writes it.
        target: The file that it leads to, relative to the root.
        anchor: The heading there, or "".
    """

    written: str
    target: str
    anchor: str


def in_site(path: str) -> str | None:
    """The place of a repository file in the site, or None if the site does not have it."""
    if path in AT_THE_ROOT:
        return AT_THE_ROOT[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def of_repository(uri: str) -> str:
    """The repository file of a page of the site."""
    return next((path for path, name in AT_THE_ROOT.items() if name == uri), f"docs/{uri}")


def links_of(path: str, text: str) -> Iterator[Link]:
    """A page's links within the repository, including HTML links, but not links in code."""
    prose = _CODE.sub("", text)
    for written in [*_LINK.findall(prose), *(value for _, value in _ATTRIBUTE.findall(prose))]:
        if not re.match(r"[a-z]+:", written):
            name, _, anchor = written.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
            yield Link(written, target, anchor)


def anchors_of(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    without_code = re.sub(r"^(`{3,}).*?^\1[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)}


def slug(heading: str, separator: str = "-") -> str:
    """The anchor of a heading on GitHub, so that a link works on GitHub and in the site."""
    text = unicodedata.normalize("NFC", re.sub(r"<[^>]*>", "", heading))
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def with_links_of_the_site(uri: str, text: str) -> str:
    """A page's text, with links to pages of the site, and to the repository for all other files."""
    path = of_repository(uri)
    links = {link.written: link for link in links_of(path, text)}
    # mkdocs knows pages by their files, a browser by their addresses: guide.md is at guide/.
    address = posixpath.dirname(uri) if posixpath.basename(uri) == "index.md" else uri.removesuffix(".md")

    def place(written: str, start: str) -> str:
        link = links.get(written)
        if link is None:
            return written
        page = in_site(link.target)
        anchor = f"#{link.anchor}" if link.anchor else ""
        if page is not None:
            return posixpath.relpath(page, start or ".") + anchor
        if (ROOT / link.target).exists():
            kind = "tree" if (ROOT / link.target).is_dir() else "blob"
            return f"{REPOSITORY}/{kind}/main/{link.target}{anchor}"
        return written

    def attribute(found: re.Match[str]) -> str:
        return f'{found[1]}="{place(found[2], address)}"'

    text = _LINK.sub(lambda found: f"]({place(found[1], posixpath.dirname(uri))})", text)
    return _ATTRIBUTE.sub(attribute, text)


def with_links_of_docstrings(uri: str, html: str) -> str:
    """A page made of docstrings, with links for the names of pages, such as docs/scores.md."""
    start = posixpath.relpath(".", uri.removesuffix(".md").removesuffix("/index") or ".")

    def linked(found: re.Match[str]) -> str:
        return f'<a href="{start}/{found[1]}/">{found[1]}</a>' if (ROOT / found[0]).exists() else found[0]

    return re.sub(r"(?<![\w/])docs/([\w-]+)\.md(?:#[\w-]+)?", linked, html)
