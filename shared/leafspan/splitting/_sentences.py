"""Cutting text into leaves that end where sentences end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# The library's time grows with the square of the length of text without a sentence end. In blocks of this length, ten
# million characters without a full stop take seconds. Blocks end where a leaf may end, so other texts are not affected.
_BLOCK = 5_000  # characters
_LONG_LINE = 50  # characters, from which on a line was probably wrapped
_LINE_JOINT = re.compile(r"(?<=[^\s.!?:;…。！？|])\r?\n(?=[^\W_])")
_BLOCK_ENDS = tuple(re.compile(pattern) for pattern in (r"\n[^\S\n]*\n\s*", r"\n", r"[.!?。！？]\s+|[。！？]", r"\s"))


def cut_sentences(
    text: str,
    size: int,
    measure: Callable[[str], int],
    *,
    markdown: bool = False,
    done: Callable[[int], None] = lambda _: None,
) -> list[int]:
    """Where leaves end, the last one at the end of the text.

    The library semantic-text-splitter fills each leaf with whole paragraphs if they fit, otherwise with whole sentences
    (Unicode Annex 29), and cuts a sentence that is longer than a leaf between words. A piece of white space alone joins the
    leaf before it.

    Args:
        text: The text.
        size: Largest size of a leaf, >= 1.
        measure: Function from a text to its size.
        markdown: Whether lists, tables and code blocks are cut as Markdown. Default: False.
        done: Function to call with each number of characters that are cut, together all of them. Default: none.
    """
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    kind = MarkdownSplitter if markdown else TextSplitter
    splitter = kind.from_callback(measure, size, trim=False)
    ends: list[int] = []
    unwrapped = _unwrapped(text)
    for start, end in _blocks(unwrapped):
        pieces = [(start + offset, piece) for offset, piece in splitter.chunk_indices(unwrapped[start:end])]
        # A leaf ends where the next one begins, so that no character between two pieces is lost.
        for place, piece in pieces:
            if place > 0 and not piece.isspace() and (not ends or place > ends[-1]):
                ends.append(place)
        done(end - start)
    if text and (not ends or ends[-1] < len(text)):
        ends.append(len(text))
    return ends


def _unwrapped(text: str) -> str:
    """The text with spaces instead of the line ends at which sentences were wrapped. Its length stays the same.

    These are line ends after a long line that does not end a sentence, before a line that starts with a letter or a digit.
    The library would cut there rather than at the end of a sentence.
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
    """The text in blocks, each as (start, end)."""
    start = 0
    while len(text) - start > _BLOCK:
        end = _block_end(text, start)
        yield start, end
        start = end
    yield start, len(text)


def _block_end(text: str, start: int) -> int:
    """The last paragraph end in the second half of a full block, or else line end, sentence end, space, or its end."""
    stop = start + _BLOCK
    for pattern in _BLOCK_ENDS:
        last = None
        for match in pattern.finditer(text, start + _BLOCK // 2, stop):
            last = match.end()
        if last is not None:
            return last
    return stop
