"""A text's structure, according to its markup: headings, tables and paragraphs. AsciiDoc and Org are read here."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from leafspan.splitting._code import LANGUAGES, find_definitions
from leafspan.splitting._headings import DEEPEST, LONGEST_HEADING, Heading, Table, find_headings, find_tables, line_places
from leafspan.splitting._rst import parse_rst

MARKDOWN, RST, PLAIN, ASCIIDOC, ORG = "markdown", "rst", "plain", "asciidoc", "org"


class Layout(NamedTuple):
    headings: Sequence[Heading]  # in order
    tables: Sequence[Table] = ()  # with column names, in order
    paragraphs: Sequence[tuple[int, int]] | None = None  # None: looked for in each section, as in Markdown
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
    if markup == RST:
        headings, paragraphs = parse_rst(text)
        return Layout(headings, (), paragraphs)
    if markup in _MARKUPS:
        return Layout(_marked(text, _MARKUPS[markup]))
    return Layout(()) if markup == PLAIN else Layout(find_headings(text), find_tables(text))


_BLANKS = re.compile(r"[ \t]+")


class _Markup(NamedTuple):
    """The patterns of a heading (groups: its marks and its text), of what may end it (None: the same marks), and of lines
    around blocks that are not text.
    """

    heading: re.Pattern[str]
    tags: re.Pattern[str] | None
    opens: re.Pattern[str]
    closes: re.Pattern[str] | None  # None: a line equal to the opening one


_MARKUPS = {
    ASCIIDOC: _Markup(
        re.compile(r"(={1,6}|#{1,6})[ \t]++(\S.*)"),
        None,
        re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|\*{4,}|_{4,}|```\S*)[ \t]*"),
        None,
    ),
    ORG: _Markup(
        re.compile(r"(\*+)[ \t]++(?:(?:TODO|DONE|WAITING|NEXT)[ \t]++)?(\S.*)"),
        re.compile(r":[\w@#%:]+:"),
        re.compile(r"[ \t]*#\+begin_\w+.*", re.IGNORECASE),
        re.compile(r"[ \t]*#\+end_\w+.*", re.IGNORECASE),
    ),
}


def _marked(text: str, markup: _Markup) -> list[Heading]:
    """Return the headings of a text whose headings are lines that start with marks."""
    headings: list[Heading] = []
    opened: str | None = None
    for line, start in zip(*line_places(text), strict=False):
        bare = line.rstrip("\r\n")
        if opened is not None:
            is_end = markup.closes.fullmatch(bare) is not None if markup.closes else bare.rstrip() == opened
            opened = None if is_end else opened
        elif markup.opens.fullmatch(bare):
            opened = "```" if bare.startswith("```") else bare.rstrip()
        elif match := markup.heading.fullmatch(bare.rstrip(" \t")):
            marks, text = match.groups()
            *before, last = _BLANKS.split(text)
            if before and (markup.tags.fullmatch(last) if markup.tags else last == marks):
                text = text[: -len(last)].rstrip(" \t")
            if len(text) <= LONGEST_HEADING:
                headings.append(Heading(start, start + len(line), min(len(marks), DEEPEST), text))
    return headings
