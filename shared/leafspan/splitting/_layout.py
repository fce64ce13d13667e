"""A text's structure, according to its markup: headings, tables and paragraphs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from leafspan.splitting._code import LANGUAGES, find_definitions
from leafspan.splitting._headings import Heading, Table, find_headings, find_tables
from leafspan.splitting._marked_lines import find_marked
from leafspan.splitting._rst import parse_rst

MARKDOWN, RST, PLAIN, ASCIIDOC, ORG = "markdown", "rst", "plain", "asciidoc", "org"


class Layout(NamedTuple):
    """A text's structure."""

    headings: Sequence[Heading]  # its headings, in order
    tables: Sequence[Table] = ()  # its tables with column names, in order
    paragraphs: Sequence[tuple[int, int]] | None = None  # None: found section by section, as in Markdown and plain text
    breaks: Sequence[int] = ()  # where leaves begin beside headings, in order, such as at a new page

    def paragraphs_within(self, start: int, end: int) -> list[tuple[int, int]] | None:
        """Return the paragraphs in a part of the text, counted from its start, or None if they are not known."""
        if self.paragraphs is None:
            return None
        some = self.paragraphs[bisect_left(self.paragraphs, (start, 0)) : bisect_left(self.paragraphs, (end, 0))]
        return [(first - start, min(after, end) - start) for first, after in some]


def layout_of(text: str, markup: str = MARKDOWN) -> Layout:
    """Return a text's structure. The markup of source code is its language's name."""
    if markup in LANGUAGES:
        return Layout(find_definitions(text, markup), (), ())
    return _LAYOUTS.get(markup, _markdown)(text)


def _markdown(text: str) -> Layout:
    return Layout(find_headings(text), find_tables(text))


def _plain(text: str) -> Layout:
    return Layout(())


def _rst(text: str) -> Layout:
    headings, paragraphs = parse_rst(text)
    return Layout(headings, (), paragraphs)


def _asciidoc(text: str) -> Layout:
    return Layout(find_marked(text, ASCIIDOC))


def _org(text: str) -> Layout:
    return Layout(find_marked(text, ORG))


_LAYOUTS: dict[str, Callable[[str], Layout]] = {
    MARKDOWN: _markdown,
    RST: _rst,
    PLAIN: _plain,
    ASCIIDOC: _asciidoc,
    ORG: _org,
}
