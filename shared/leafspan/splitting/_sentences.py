"""Cutting text into leaves that end where sentences end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# The library's time grows with the square of a run that has no sentence ends, so it is given blocks of this length:
# ten million characters without any full stop then take seconds, and no other text notices.
_BLOCK = 5_000
_LONG_LINE = 50
_LINE_JOINT = re.compile(r"(?<=[^\s.!?:;…。！？|])\r?\n(?=[^\W_])")
_BLOCK_ENDS = tuple(re.compile(pattern) for pattern in (r"\n[^\S\n]*\n\s*", r"\n", r"[.!?。！？]\s+|[。！？]", r"\s"))


def cut_sentences(text: str, size: int, measure: Callable[[str], int], *, markdown: bool = False) -> list[int]:
    """Where leaves of at most ``size`` (by ``measure``) end; the last end is the text's.

    semantic-text-splitter fills each leaf with whole paragraphs where they fit, else with whole sentences (Unicode
    Annex 29), and cuts a sentence that is longer than a leaf between words. Leaves of white space alone join the one
    before. With ``markdown``, lists, tables and code blocks count as such.
    """
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    kind = MarkdownSplitter if markdown else TextSplitter
    splitter = kind.from_callback(measure, size, trim=False)
    ends: list[int] = []
    flowing = _unwrapped(text)
    for start, end in _blocks(flowing):
        pieces = [(start + offset, piece) for offset, piece in splitter.chunk_indices(flowing[start:end])]
        # A leaf ends where the next one begins, so that nothing between two pieces could be lost.
        for place, piece in pieces:
            if place > 0 and not piece.isspace() and (not ends or place > ends[-1]):
                ends.append(place)
    if text and (not ends or ends[-1] < len(text)):
        ends.append(len(text))
    return ends


def _unwrapped(text: str) -> str:
    """The text, as long as before, with spaces for the line ends at which a sentence was wrapped.

    That is where a long line ends within a sentence, and the next one goes on with a letter or a digit; the library
    would cut there rather than at the end of a sentence.
    """
    places = [
        place
        for match in _LINE_JOINT.finditer(text)
        if "\n" not in text[max(0, match.start() - _LONG_LINE) : match.start()] and match.start() >= _LONG_LINE
        for place in range(*match.span())
    ]
    if not places:
        return text
    characters = list(text)
    for place in places:
        characters[place] = " "
    return "".join(characters)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > _BLOCK:
        end = _block_end(text, start)
        yield start, end
        start = end
    yield start, len(text)


def _block_end(text: str, start: int) -> int:
    """The last best place to end a block: a paragraph, else a line, a sentence, a word, or wherever it is full."""
    stop = start + _BLOCK
    for pattern in _BLOCK_ENDS:
        last = None
        for match in pattern.finditer(text, start + _BLOCK // 2, stop):
            last = match.end()
        if last is not None:
            return last
    return stop
