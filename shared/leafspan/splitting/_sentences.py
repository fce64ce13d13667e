"""Cutting text into leaves that end where sentences end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from unicodedata import east_asian_width

from leafspan.splitting._unwrapping import joined, unwrapped, with_marks

_WORD = re.compile(r"[^\W_]")

# At the end of a page or at its start: a sentence end in any script, a word's first half, a word and no mark of a list.
_SENTENCE_END = re.compile(r"""[.!?…。．！？｡।॥؟۔።။។։།][)\]"'”’»」』]*\Z""")
_FIRST_HALF = re.compile(r"[^\W\d_][-\u2010\u00ad]\Z")
_FIRST_WORD = re.compile(r"""[(\["'“‘«]*(?!\w{1,3}\)|\w\.|o\s)([^\W\d_]+(?:[-'’‐][^\W\d_]+)*)[^\w\s]*(?:\s|\Z)""")
_FULL_LINE = 50  # columns: a line of this length was probably wrapped

# The library's time grows with the square of the length of text without a sentence end. In blocks of this length, ten
# million characters without a full stop take seconds. Blocks end where a leaf may end, so other texts do not change.
_BLOCK = 5_000  # characters
_BLOCK_ENDS = tuple(re.compile(pattern) for pattern in (r"\n[^\S\n]*\n\s*", r"\n", r"[.!?。！？]\s+|[。！？]", r"\s"))


def cut_sentences(
    text: str,
    size: int,
    measure: Callable[[str], int],
    *,
    markdown: bool = False,
    paragraphs: Sequence[tuple[int, int]] | None = None,
    done: Callable[[int], None] = lambda _: None,
) -> list[int]:
    """Return where leaves end, the last one at the end of the text.

    The library semantic-text-splitter fills each leaf with whole paragraphs if they fit, otherwise with whole sentences
    (Unicode Annex 29), and cuts a sentence that is longer than a leaf between words. White space without text joins the
    previous leaf, or at the start of the text the next one. Marks without text, such as a bullet or the end of a table,
    join the leaf that they belong to, if it has room.
    """
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    def measure_original(piece: str) -> int:
        return measure(with_marks(piece))

    kind = MarkdownSplitter if markdown else TextSplitter
    replaced = markdown or paragraphs is not None
    splitter = kind.from_callback(measure_original if replaced else measure, size, trim=False)
    ends: list[int] = []
    lines = unwrapped(text, markdown=markdown) if paragraphs is None else joined(text, paragraphs)
    for start, end in _blocks(lines):
        pieces = [(start + offset, piece) for offset, piece in splitter.chunk_indices(lines[start:end])]
        # A leaf ends where the next one starts, so that no character between two pieces is lost.
        for place, piece in pieces:
            if not piece.isspace() and text[ends[-1] if ends else 0 : place].strip():
                ends.append(place)
        done(end - start)
    if text and (not ends or ends[-1] < len(text)):
        ends.append(len(text))
    return _with_marks_joined(text, ends, lambda piece: measure(piece) <= size)


def breaks_between(text: str, starts: Sequence[int]) -> list[int]:
    """Return the starts of a text's parts, such as pages, without those at which a sentence goes on.

    White space without text belongs to the part before it.
    """
    breaks: list[int] = []
    before = ""
    for start, end in pairwise([0, *starts, len(text)]):
        if part := text[start:end].strip():
            if before and not _goes_on(before, part):
                breaks.append(start)
            before = part
    return breaks


def _goes_on(before: str, following: str) -> bool:
    """Whether a sentence goes on: in lower case, with a word's second half, or, without cases, after a full line."""
    if _SENTENCE_END.search(before[-10:]):
        return False
    word = _FIRST_WORD.match(following[:100])
    if (word and word[1].islower()) or (_FIRST_HALF.search(before[-2:]) and following[0].isalpha()):
        return True
    line = before[-2 * _FULL_LINE :].splitlines()[-1]
    columns = sum(2 if east_asian_width(character) in "WF" else 1 for character in line)
    return following[0].isalpha() and following[0].lower() == following[0].upper() and columns >= _FULL_LINE


def _with_marks_joined(text: str, ends: list[int], fits: Callable[[str], bool]) -> list[int]:
    """Remove the ends of leaves without a word, if the leaf that their marks belong to has room.

    Marks at the end of a line close the text before them. Others, such as a bullet, open the text after them.
    """
    kept: list[int] = []
    start = 0  # start of the leaf that ends next
    for number, end in enumerate(ends):
        before = kept[-2] if len(kept) > 1 else 0
        piece = text[start:end]
        if _WORD.search(piece) is None:
            following = ends[number + 1] if number + 1 < len(ends) else None
            if following is not None and not piece.endswith("\n") and fits(text[start:following]):
                continue
            if kept and fits(text[before:end]):
                kept[-1] = start = end
                continue
        kept.append(end)
        start = end
    return kept


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the text in blocks, each as (start, end)."""
    start = 0
    while len(text) - start > _BLOCK:
        end = _block_end(text, start)
        yield start, end
        start = end
    yield start, len(text)


def _block_end(text: str, start: int) -> int:
    """Return the last paragraph end in a full block's second half, or else line end, sentence end, space or block end."""
    stop = start + _BLOCK
    for pattern in _BLOCK_ENDS:
        last = None
        for match in pattern.finditer(text, start + _BLOCK // 2, stop):
            last = match.end()
        if last is not None:
            return last
    return grapheme_end(text, start, stop)


# Grapheme clusters (Unicode Standard Annex 29, section 3): readers see each as one character, such as a flag, a letter with
# its accent, or CRLF. No leaf cuts one.
_LONGEST = 1_000  # characters after a place that are examined: a longer cluster is not real writing, and may be cut


def at_grapheme_ends(text: str, ends: Sequence[int]) -> list[int]:
    """Return the places in ascending order. A place within a cluster moves to the cluster's end."""
    if text.isascii() and "\r" not in text:
        return list(ends)
    moved: list[int] = []
    start = 0
    for end in ends:
        if end > start:
            start = grapheme_end(text, start, end)
            moved.append(start)
    return moved


def grapheme_end(text: str, start: int, place: int) -> int:
    """Return the end of the cluster around a place, or the place itself if it is not within a cluster."""
    around = text[place - 1 : place + 1]
    if len(around) < 2 or (around.isascii() and around != "\r\n"):
        return place
    from wcwidth import iter_graphemes

    end = start
    for cluster in iter_graphemes(text[start : place + _LONGEST]):
        end += len(cluster)
        if end >= place:
            break
    return end if end < place + _LONGEST or end == len(text) else place
