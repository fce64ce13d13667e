"""Cutting text into leaves that end where sentences end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from unicodedata import east_asian_width

from leafspan.splitting._headings import LINE_END, line_places, markdown_parser, split_lines

_WORD = re.compile(r"[^\W_]")

# At the end of a page or at its start: a sentence end in any script, a word's first half, a word and no mark of a list.
_SENTENCE_END = re.compile(r"""[.!?…。．！？｡।॥؟۔።။។։།][)\]"'”’»」』]*\Z""")
_FIRST_HALF = re.compile(r"[^\W\d_][-\u2010\u00ad]\Z")
_FIRST_WORD = re.compile(r"""[(\["'“‘«]*(?!\w{1,3}\)|\w\.|o\s)([^\W\d_]+(?:[-'’‐][^\W\d_]+)*)[^\w\s]*(?:\s|\Z)""")
_FULL_LINE = 50  # columns or characters: a line of this length was probably wrapped

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


# The library prefers to cut at line ends, links, code or emphasis, rather than at a sentence's end. So each sentence is put
# in one line: these characters are replaced, one by one.
_NO_SENTENCE_END = re.compile(r"[^\s.!?:;…。！？|]\Z")
_SENTENCE_END_OF_LINE = re.compile(r"[.!?…。！？|]\Z")
# Lines between blank lines. All is matched possessively, so that no line is tried twice.
_PARAGRAPH = re.compile(r"(?:\A|(?<=[\r\n]))(?:[^\S\r\n]*+\S[^\r\n]*+(?:\r\n?+|\n|\Z))++")
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
    for start, end in _markdown_paragraphs(text) if markdown else (each.span() for each in _PARAGRAPH.finditer(text)):
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
    lines, starts = line_places(text)
    for token, content in pairwise(markdown_parser(tables=True).parse(text)):
        if token.type == "paragraph_open" and token.map:
            first, after = token.map
            line = lines[first].rstrip()
            beginning = content.content.partition("\n")[0].rstrip()
            if line.endswith(beginning):  # after the mark of a list or a block quote
                yield starts[first] + len(line) - len(beginning), starts[after]


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
    if len(line) >= _FULL_LINE and _NO_SENTENCE_END.search(line) and following[:1].isalnum():
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
    return width >= _FULL_LINE and len(line) + 1 + sum(map(len, word)) > width


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0
