"""Puts each sentence in one line, for a library that prefers to cut at line ends and at Markdown's marks.

In a hard-wrapped text, such a library would rather cut at a line end, link, code or emphasis within a sentence than at the
sentence's end. So these characters are replaced, one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from leafspan.splitting._headings import LINE_END, split_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LONG_LINE = 50  # characters; a line of this length was probably wrapped
_NO_SENTENCE_END = re.compile(r"[^\s.!?:;…。！？|]\Z")
_SENTENCE_END_OF_LINE = re.compile(r"[.!?…。！？|]\Z")
_PREFIX = re.compile(r"(?:[ \t]|>)*")  # before the text of a paragraph's further lines
_BULLET = re.compile(r"[ \t]*(?:(?:[-*+•]|\d+[.)])[ \t]+)?")
_COLUMNS = re.compile(r"\S(?: {3,}|\t+)\S")  # a line of a table
_HARD_BREAK = re.compile(r"(?:  |\\)\Z")
_NO_BEGINNING = re.compile(r"[*_\[(\"'“‘]*[^\W\dA-Z_]|[`$({\[]")  # in Markdown, seldom start a sentence on a new line

# In Markdown, these start or end a part of a sentence, or have another form (smart punctuation). Each becomes a character
# with the same role in Unicode's sentence rules (Annex 29), and without a meaning in Markdown.
_MARK_PAIRS = dict(
    zip(
        "*`[]<>'\"~^$&|\\",
        "\u275c\u275b\u27e6\u27e7\u2039\u203a\u2019\u201d\u223c\u2303\u00a4\u214b\u2223\u2216",
        strict=True,
    )
)
_RUNS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])|-{2,}|\.{3,}")
_IN_RUNS = {"_": "\u275d", "-": "\u2013", ".": "\u2024"}
# By those rules no sentence starts with a small letter. But many start with code or a link, whose mark becomes a capital.
_MARKED_BEGINNING = re.compile(
    r"(?:(?<=[^\W\d_]{2}\.)|(?<=[`)\]*_\"'\d]\.))(?<!\bcf\.)(?<!\bvs\.)(?<!\bal\.)\s+[`\[*_(\"']"
)
_CAPITALS = dict(zip("`[*_(\"'", "\u24b6\u24b7\u24b8\u24b9\u24ba\u24bb\u24bc", strict=True))
_MARK_TABLE, _RUN_TABLE = str.maketrans(_MARK_PAIRS), str.maketrans(_IN_RUNS)
_ORIGINALS = str.maketrans({new: mark for marks in (_MARK_PAIRS, _IN_RUNS, _CAPITALS) for mark, new in marks.items()})


def unwrapped(text: str, *, markdown: bool) -> str:
    """Return the text with each sentence in one line. Its length stays the same."""
    characters = list(text)
    for start, end in _markdown_paragraphs(text) if markdown else _paragraphs(text):
        for place in _wraps(text, start, end, markdown=markdown):
            characters[place] = " "
        if markdown:
            characters[start:end] = _without_marks("".join(characters[start:end]))
    return "".join(characters)


def joined(text: str, paragraphs: Iterable[tuple[int, int]]) -> str:
    """Return the text with each of these paragraphs in one line, without marks. Its length stays the same."""
    characters = list(text)
    for start, end in paragraphs:
        stop = start + len(text[start:end].rstrip())
        for match in LINE_END.finditer(text, start, stop):
            characters[match.start() : match.end()] = " " * (match.end() - match.start())
        characters[start:stop] = _without_marks("".join(characters[start:stop]))
    return "".join(characters)


def with_marks(text: str) -> str:
    """Restore the replaced Markdown marks in a part of an unwrapped text."""
    return text if text.isascii() else text.translate(_ORIGINALS)


def _without_marks(paragraph: str) -> str:
    """Return a paragraph with other characters instead of Markdown's marks."""
    paragraph = _MARKED_BEGINNING.sub(lambda match: match[0][:-1] + _CAPITALS[match[0][-1]], paragraph)
    paragraph = _RUNS.sub(lambda match: match[0].translate(_RUN_TABLE), paragraph)
    return paragraph.translate(_MARK_TABLE)


def _markdown_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield Markdown's paragraphs, including those in lists and block quotes, each as (start, end)."""
    lines = split_lines(text)
    starts = [0, *accumulate(map(len, lines))]
    for token, content in pairwise(_parser().parse(text)):
        if token.type == "paragraph_open" and token.map:
            first, after = token.map
            line = lines[first].rstrip()
            beginning = content.content.partition("\n")[0].rstrip()
            if line.endswith(beginning):  # after the mark of a list or a block quote
                yield starts[first] + len(line) - len(beginning), starts[after]


@lru_cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield a text's paragraphs: lines between blank lines."""
    start = end = 0
    for line in split_lines(text):
        if line.strip():
            end += len(line)
            continue
        if start < end:
            yield start, end
        end += len(line)
        start = end
    if start < end:
        yield start, end


def _wraps(text: str, start: int, end: int, *, markdown: bool) -> Iterator[int]:
    """Yield a paragraph's line ends at which sentences were wrapped, as characters."""
    lines = split_lines(text[start:end].rstrip())
    width = max(len(line.rstrip()) for line in lines)
    place = start
    for line, following in pairwise(lines):
        place += len(line)
        if _line_goes_on(line, following, width, markdown=markdown):
            yield from range(place - len(line) + len(line.rstrip("\r\n")), place)


def _line_goes_on(line: str, following: str, width: int, *, markdown: bool) -> bool:
    """Whether a sentence goes on in a paragraph's next line.

    It does after a long line that does not end a sentence, and if the next word would have made the line longer than the
    longest one, which is how lines are wrapped.
    """
    line = line.rstrip("\r\n")
    following = following.rstrip()
    if markdown:
        if _HARD_BREAK.search(line):
            return False
        following = following[_match_end(_PREFIX, following) :]
        if _NO_BEGINNING.match(following) and not _SENTENCE_END_OF_LINE.search(line.rstrip()):
            return True
    line = line.rstrip()
    if len(line) >= _LONG_LINE and _NO_SENTENCE_END.search(line) and following[:1].isalnum():
        return True
    if not markdown and (
        _SENTENCE_END_OF_LINE.search(line)
        or _match_end(_BULLET, line) != _match_end(_PREFIX, following)
        or _match_end(_BULLET, following) != _match_end(_PREFIX, following)
        or _COLUMNS.search(line)
        or _COLUMNS.search(following)
    ):
        return False
    word = following.split(maxsplit=1)[:1]
    return width >= _LONG_LINE and len(line) + 1 + sum(map(len, word)) > width


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0
