"""The headings and tables of a Markdown text, with their places."""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Parsing takes about 0.3 s for a million characters, so only texts with such a line are parsed. The patterns match line
# ends and blanks possessively (?+, *+): otherwise a line of many blanks, or a page of 200 lines, would be tried many ways.
_HINT = re.compile(
    r"(?:^|(?<=[\r\n]))\ufeff*+ {0,3}#{1,6}[ \t]++\S"
    r"|\S[ \t]*+(?:\r\n?+|\n) {0,3}(?:=++|-++)[ \t]*+(?=[\r\n]|\Z)"
)
# Fields at the start of a page, between lines of dashes (YAML) or pluses (TOML). They are not Markdown, and would be read
# as headings. More than 200 lines are fields only if the first line is a field.
_LINE = r"[^\r\n]*+(?:\r\n?+|\n)"
_FRONT_MATTER = re.compile(
    rf"""\ufeff*+(?:
    ---[ \t]*+(?:\r\n?+|\n)(?:(?:{_LINE}){{0,200}}?|(?=["'\w][^\r\n:]*+:[ \t\r\n])(?:{_LINE})*?)(?:---|\.\.\.)
    |\+\+\+[ \t]*+(?:\r\n?+|\n)(?:(?:{_LINE}){{0,200}}?|(?=["'\w][^\r\n=]*+=)(?:{_LINE})*?)\+\+\+
    )[ \t]*+(?=[\r\n]|\Z)""",
    re.VERBOSE,
)
LONGEST_HEADING = 1_000  # characters; a longer one is a paragraph
DEEPEST = 6  # depth of a heading
_CHARACTER = re.compile(r"[^\r\n]")
LINE_END = re.compile(r"\r\n?|\n")  # where a line ends, for markdown-it as in an editor

# The line below the column names. It matches a blank or a dash possessively (?+), as above.
_DASHES = re.compile(r"[ \t]*+\|?+[ \t]*+:?+-++:?+[ \t]*+\|[-:| \t]*+[\r\n]*+")
_PIPE = re.compile(r"(?<!\\)\|")
_LONGEST_HEADER, _LONGEST_CAPTION = 300, 150  # characters of a caption and column names, and of the caption
_NO_CAPTION = re.compile(r"[#`<>|]|[^|]*\||.*\.\Z|[\W\d_]*\Z")  # markup, a row, a sentence, or no words


class Heading(NamedTuple):
    """A heading of a text."""

    start: int  # its first character
    end: int  # the character after its line end
    depth: int  # 1 for a top heading, up to 6
    text: str  # its text, without Markdown's marks


class Table(NamedTuple):
    """A table of a text."""

    start: int  # its first character
    end: int  # the character after its last line end
    header: str  # its caption and column names, such as ``"Prices in euros: Name | Price"``, at most 300 characters


def find_headings(text: str) -> list[Heading]:
    """Return all headings of a Markdown text, in order. A byte order mark before a heading is ignored.

    A heading with more than 1,000 characters becomes a paragraph, since each leaf below a heading is indexed with it.
    """
    front = front_matter(text)
    if not _HINT.search(text, len(front)):
        return []
    _, starts = line_places(text)
    tokens = markdown_parser(tables=False).parse((_CHARACTER.sub(" ", front) + text[len(front) :]).replace("\ufeff", ""))
    headings = []
    for token, content in pairwise(tokens):
        if token.type == "heading_open" and token.map and token.level == 0 and len(content.content) <= LONGEST_HEADING:
            first, after = token.map
            headings.append(Heading(starts[first], starts[after], int(token.tag[1]), content.content.strip()))
    return headings


@cache
def markdown_parser(*, tables: bool) -> MarkdownIt:
    """Return the parser for all texts, which takes longer to make than a page to parse."""
    from markdown_it import MarkdownIt  # takes 20 ms, and most texts do not need it

    parser = MarkdownIt("commonmark").enable("table" if tables else [])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def front_matter(text: str) -> str:
    """Return a Markdown page's front matter, such as Jekyll's and Hugo's, with the lines around it, or ""."""
    match = _FRONT_MATTER.match(text)
    return match[0] if match else ""


def split_lines(text: str) -> list[str]:
    """Return a text's lines with their line ends."""
    lines, start = [], 0
    for match in LINE_END.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    lines.append(text[start:])
    return lines


def line_places(text: str) -> tuple[list[str], list[int]]:
    """Return a text's lines, and the character at which each starts and the last one ends."""
    lines = split_lines(text)
    return lines, [0, *accumulate(map(len, lines))]


def find_tables(text: str) -> list[Table]:
    """Return all tables of a Markdown text that have column names, in order."""
    if "|" not in text:
        return []
    lines, starts = line_places(text)
    tables: list[Table] = []
    number = 1
    while number < len(lines):
        first, number = number - 1, number + 1
        if not _DASHES.fullmatch(lines[first + 1]):
            continue
        names = _cells(lines[first])
        if any(names) and len(names) == len(_cells(lines[first + 1])):
            after = next((row for row in range(number, len(lines)) if "|" not in lines[row]), len(lines))
            tables.append(Table(starts[first], starts[after], _header(lines, first, after)))
            number = after + 1
    return tables


def _header(lines: list[str], first: int, after: int) -> str:
    """Return a table's caption, and the names of its columns from its first rows: those without a name of their own."""
    rows = [_cells(lines[first])]
    for line in lines[first + 2 : min(after - 1, first + 6)] if not all(rows[0]) else ():
        cells = _cells(line)
        if len(cells) != len(rows[0]) or cells[0][:1] not in ("", "("):
            break
        rows.append(cells)
    names = [" ".join(filter(None, column)) for column in zip(*rows, strict=True)]
    above = next((line.strip() for line in lines[max(first - 3, 0) : first][::-1] if line.strip()), "")
    caption = re.split(r"(?<=[.!?])\s+", above)[-1]
    if len(caption) <= _LONGEST_CAPTION and not _NO_CAPTION.match(caption):
        names[0] = f"{caption} {names[0]}".rstrip()
    return " | ".join(names)[:_LONGEST_HEADER]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _PIPE.split(line.strip().removeprefix("|").removesuffix("|"))]
