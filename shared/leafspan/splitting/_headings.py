"""The Markdown headings of a text, with their places."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import NamedTuple

# A parse costs about 0.3 s for a million characters: a text without any such line cannot have a heading worth it.
_HINT = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+\S|=+[ \t]*$)", re.MULTILINE)
_LINE_END = re.compile(r"\r\n?|\n")  # what markdown-it takes for the end of a line


class Heading(NamedTuple):
    """``text[start:end]`` is the heading with its line end; ``depth`` is 1 for a top heading, 6 for the lowest."""

    start: int
    end: int
    depth: int
    text: str


def find_headings(text: str) -> list[Heading]:
    """All headings of a Markdown text in order; none where it has no ``#`` heading and no ``===`` underline."""
    if not _HINT.search(text):
        return []
    from markdown_it import MarkdownIt  # 20 ms, and most texts need none of it

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    starts = [0, *accumulate(len(line) for line in _lines(text))]
    tokens = parser.parse(text)
    headings = []
    for token, content in pairwise(tokens):
        if token.type == "heading_open" and token.map and token.level == 0:
            first, after = token.map
            headings.append(Heading(starts[first], starts[after], int(token.tag[1]), content.content.strip()))
    return headings


def _lines(text: str) -> list[str]:
    lines, start = [], 0
    for match in _LINE_END.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    lines.append(text[start:])
    return lines
