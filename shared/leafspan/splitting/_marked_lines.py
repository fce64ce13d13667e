"""Markups whose headings are lines that start with marks: AsciiDoc and Org."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from leafspan.splitting._headings import Heading, split_lines

_DEEPEST = 6
_LONGEST_HEADING = 1_000  # characters, as in Markdown


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
    "asciidoc": _Markup(
        re.compile(r"(={1,6}|#{1,6})[ \t]++(\S.*)"),
        None,
        re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|\*{4,}|_{4,}|```\S*)[ \t]*"),
        None,
    ),
    "org": _Markup(
        re.compile(r"(\*+)[ \t]++(?:(?:TODO|DONE|WAITING|NEXT)[ \t]++)?(\S.*)"),
        re.compile(r":[\w@#%:]+:"),
        re.compile(r"[ \t]*#\+begin_\w+.*", re.IGNORECASE),
        re.compile(r"[ \t]*#\+end_\w+.*", re.IGNORECASE),
    ),
}


def find_marked(text: str, markup: str) -> list[Heading]:
    """Return a text's headings, in order."""
    known = _MARKUPS[markup]
    lines = split_lines(text)
    headings: list[Heading] = []
    opened: str | None = None
    for line, start in zip(lines, accumulate(map(len, lines), initial=0), strict=False):
        bare = line.rstrip("\r\n")
        if opened is not None:
            is_end = known.closes.fullmatch(bare) is not None if known.closes else bare.rstrip() == opened
            opened = None if is_end else opened
        elif known.opens.fullmatch(bare):
            opened = "```" if bare.startswith("```") else bare.rstrip()
        elif match := known.heading.fullmatch(bare.rstrip(" \t")):
            marks, text = match.groups()
            *before, last = _BLANKS.split(text)
            if before and (known.tags.fullmatch(last) if known.tags else last == marks):
                text = text[: -len(last)].rstrip(" \t")
            if len(text) <= _LONGEST_HEADING:
                headings.append(Heading(start, start + len(line), min(len(marks), _DEEPEST), text))
    return headings
