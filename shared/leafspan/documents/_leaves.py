"""A document's leaves: their places, packed as they are stored, their lines, and the texts that are indexed for them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter

from leafspan.errors import IndexMismatch
from leafspan.splitting import LINE_END, Cut, Heading, Table, check_cuts
from leafspan.text import count_words
from leafspan.values import TABLE_DEPTH, Ancestor, Document, Leaf, LeafId, Section

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]\s*|\n\s*\n\s*")


def make_leaves(document: Document, version: str, cuts: Sequence[Cut]) -> list[Leaf]:
    """Return the leaves between the cuts, in order, each with its ancestors up to the whole document."""
    check_cuts(cuts, document.text)
    if not cuts:
        return []
    starts = [0, *(cut.end for cut in cuts[:-1])]
    words = [count_words(document.text[start : cut.end]) for start, cut in zip(starts, cuts, strict=True)]
    # A word divided by a cut counts in both leaves, but only once in a node that contains both.
    new_words = [n - _is_within_word(document.text, start) for n, start in zip(words, starts, strict=True)]
    top = max(cut.level for cut in cuts) + 1
    levels = []
    for level in range(1, top + 1):
        lasts = [i for i, cut in enumerate(cuts) if cut.level >= level and i < len(cuts) - 1]
        levels.append(_ancestors([*lasts, len(cuts) - 1], cuts, starts, words, new_words, level))
    return [
        Leaf(document.id, version, i, starts[i], cuts[i].end, words[i], ancestors)
        for i, ancestors in enumerate(zip(*levels, strict=True))
    ]


def _is_within_word(text: str, place: int) -> bool:
    """Whether a cut at this place divides a word."""
    around = text[place - 1 : place + 1] if place else ""
    return len(around.strip()) == 2 and count_words(around) == 1


def _ancestors(
    lasts: Sequence[int],
    cuts: Sequence[Cut],
    starts: Sequence[int],
    words: Sequence[int],
    new_words: Sequence[int],
    level: int,
) -> list[Ancestor]:
    """Return each leaf's ancestor at one level."""
    ancestors: list[Ancestor] = []
    first = 0
    for last in lasts:
        # A child ends wherever the level below ends; the last child ends with the node itself.
        children = 1 + sum(cut.level >= level - 1 for cut in cuts[first:last])
        words_of_node = words[first] + sum(new_words[first + 1 : last + 1])
        node = Ancestor(first, last, children, starts[first], cuts[last].end, words_of_node)
        ancestors += [node] * (last + 1 - first)
        first = last + 1
    return ancestors


def find_sections(leaves: Sequence[Leaf], headings: Sequence[Heading], tables: Sequence[Table] = ()) -> list[Section]:
    """Return the leaves below each heading, in the order of the text.

    A section ends at the next heading of the same or a higher rank. A table's rows in other leaves than its header form a
    section under the header.
    """
    ends = [leaf.end for leaf in leaves]
    sections: list[Section] = []
    section_ends: list[int] = []  # filled from the last heading backwards
    later: list[Heading] = []  # headings after this one that may end its section, nearest last
    for heading in reversed(headings):
        while later and later[-1].depth > heading.depth:
            later.pop()
        section_ends.append(later[-1].start if later else len(leaves) and ends[-1])
        later.append(heading)
    for heading, end in zip(headings, reversed(section_ends), strict=True):
        first = bisect_right(ends, heading.start)
        last = bisect_left(ends, end)
        # Two headings without text between them share a leaf.
        sections.append(Section(first, max(first, last), heading.depth, heading.text))
    begins = [heading.start for heading in headings]
    for table in tables:
        first, last = bisect_right(ends, table.start) + 1, bisect_left(ends, table.end)
        if first <= last:
            sections.append(Section(first, last, TABLE_DEPTH, table.header))
            begins.append(table.start)
    return [section for _, section in sorted(zip(begins, sections, strict=True), key=itemgetter(0))]


def indexed_texts(document: Document, leaves: Sequence[Leaf], *, context_sentences: int = 0) -> list[str]:
    """Return the text to index for each leaf: its own text, if wanted with sentences of its neighbours.

    These sentences do what overlapping chunks do elsewhere.
    """
    if context_sentences:
        return [_with_neighbours(document.text, leaves, leaf.ordinal, context_sentences) for leaf in leaves]
    return [document.text[leaf.start : leaf.end] for leaf in leaves]


def titles_of_leaves(title: str | None, sections: Sequence[Section], leaves: int) -> list[list[str]]:
    """Return the titles to index with each leaf: the document's title, then the headings above the leaf."""
    titles: list[list[str]] = [[title] if title else [] for _ in range(leaves)]
    for section in sections:
        if section.text and section.text != title:
            for ordinal in range(section.first, section.last + 1):
                titles[ordinal].append(section.text)
    return titles


def indexed_heads(title: str | None, sections: Sequence[Section], leaves: int) -> list[str]:
    """Return each leaf's titles as one text, as embedded. The text is empty if a leaf has no titles."""
    first = 1 if title else 0
    titles = titles_of_leaves(title, sections, leaves)
    return ["\n".join([*each[:first], *([" > ".join(each[first:])] if each[first:] else [])]) for each in titles]


def _with_neighbours(text: str, leaves: Sequence[Leaf], ordinal: int, count: int) -> str:
    """Return a leaf's text, with the last ``count`` sentences of the previous leaf and the first of the next one."""
    leaf = leaves[ordinal]
    start, end = leaf.start, leaf.end
    if ordinal > 0:
        previous = leaves[ordinal - 1]
        ends = (match.end() for match in _SENTENCE_END.finditer(text, previous.start, previous.end))
        begins = [previous.start, *(place for place in ends if place < previous.end)]
        start = begins[-count] if len(begins) >= count else previous.start
    if ordinal + 1 < len(leaves):
        following = leaves[ordinal + 1]
        sentence_ends = [match.end() for match in _SENTENCE_END.finditer(text, following.start, following.end)]
        end = sentence_ends[count - 1] if len(sentence_ends) >= count else following.end
    return text[start:end]


# A leaf's place is a single metadata value, since an engine may have to read a row for each key:
# ``1|ordinal,start,end,words|first,last,children,start,end,words|...``, with one ancestor for each level, parents first.
_PLACE_FORMAT = "1"

# Whole numbers >= 0 as ``pack_place`` writes them, with no more digits than fit into 64 bits.
_NUMBER = "(0|[1-9][0-9]{0,17})"
_PLACE = re.compile(",".join([_NUMBER] * 4))
_ANCESTOR = re.compile(",".join([_NUMBER] * 6))
_FIRST_NUMBERS = re.compile(rf"{_PLACE_FORMAT}\|(\d+)(?:[^|]*\|(\d+))?(?:[^|]*\|(\d+))?")


def pack_place(leaf: Leaf) -> str:
    """Return the leaf's place as a string, without document and version, which the leaf's id has."""
    place = f"{leaf.ordinal},{leaf.start},{leaf.end},{leaf.words}"
    return "|".join([_PLACE_FORMAT, place, *(",".join(map(str, ancestor)) for ancestor in leaf.ancestors)])


def unpack_place(id_: LeafId, packed: object, *, checked: bool = False) -> Leaf:
    if not isinstance(packed, str):
        raise ValueError("its place is missing")
    format_, _, rest = packed.partition("|")
    if format_ != _PLACE_FORMAT:
        raise IndexMismatch(
            f"leaf {str(id_)!r} is stored in format {format_!r}, this version of leafspan reads {_PLACE_FORMAT!r}"
        )
    place, _, above = rest.partition("|")
    if checked:
        ordinal, start, end, words = map(int, place.split(","))
        return Leaf(id_.document_id, id_.version, ordinal, start, end, words, _ancestors_as_written(above) if above else ())
    numbers = _PLACE.fullmatch(place)
    if numbers is None:
        raise ValueError(f"its place must be 4 whole numbers, got {place!r}")
    ordinal, start, end, words = map(int, numbers.groups())
    ancestors = _unpack_ancestors(above) if above else ()
    if ordinal != id_.ordinal:
        raise ValueError(f"its place belongs to leaf {ordinal}")
    if start > end:
        raise ValueError(f"its place ends before it starts, at {start} and {end}")
    if ancestors:
        first, last, _, parent_start, parent_end, _ = ancestors[0]
        if not (
            (parent_start == start if ordinal == first else first < ordinal and parent_start < start)
            and (parent_end == end if ordinal == last else ordinal < last and end < parent_end)
        ):
            raise ValueError(f"its place, {place!r}, is not within its parent's place, {above.partition('|')[0]!r}")
    return Leaf(id_.document_id, id_.version, ordinal, start, end, words, ancestors)


def ordinal_and_firsts(packed: str) -> tuple[int, list[int]]:
    """Return a leaf's ordinal, and the ordinals of the first leaves below its parent and its grandparent, if any.

    This is much faster than ``unpack_place``, and checks nothing. A summary has no parent, like the only leaf of a
    document, so its stored value is not read.
    """
    match = _FIRST_NUMBERS.match(packed)
    if match is None:
        return 0, []
    ordinal, *above = match.groups()
    return int(ordinal), [int(first) for first in above if first is not None]


@lru_cache(maxsize=8192)
def _ancestors_as_written(packed: str) -> tuple[Ancestor, ...]:
    """Like ``_unpack_ancestors``, for a place that is known to be unchanged."""
    return tuple([Ancestor._make(map(int, each.split(","))) for each in packed.split("|")])


@lru_cache(maxsize=8192)
def _unpack_ancestors(packed: str) -> tuple[Ancestor, ...]:
    """Return a leaf's ancestors from their strings. Cached, since all leaves below a parent have the same."""
    ancestors = tuple(map(_unpack_ancestor, packed.split("|")))
    for below, above in pairwise(ancestors):
        if not (
            above.first <= below.first
            and below.last <= above.last
            and above.start <= below.start
            and below.end <= above.end
        ):
            raise ValueError(f"its ancestors are not within each other: {packed!r}")
    if ancestors[-1].first != 0 or ancestors[-1].start != 0:
        raise ValueError(f"its last ancestor does not begin where the document does: {packed!r}")
    return ancestors


def _unpack_ancestor(packed: str) -> Ancestor:
    numbers = _ANCESTOR.fullmatch(packed)
    if numbers is None:
        raise ValueError(f"one of its ancestors must be 6 whole numbers, got {packed!r}")
    ancestor = Ancestor(*map(int, numbers.groups()))
    first, last, children, start, end, _ = ancestor
    if first > last or start > end or not 1 <= children <= last - first + 1:
        raise ValueError(f"one of its ancestors is impossible: {packed!r}")
    return ancestor


def pack_lines(text: str, leaves: Sequence[Leaf]) -> str:
    """Pack the first lines of all leaves: for each leaf, the number of lines after the previous leaf's first line."""
    line_ends = [match.end() for match in LINE_END.finditer(text)]
    lines = [bisect_right(line_ends, leaf.start) for leaf in leaves]
    return ",".join(str(line - before) for before, line in pairwise([0, *lines]))


def moved_down(packed: str, lines: int) -> str:
    """Return the result of ``pack_lines``, moved down by the lines of the file before the text."""
    first, comma, others = packed.partition(",")
    return f"{int(first) + lines}{comma}{others}" if first else packed


def lines_of(packed: str, first: int, text: str) -> tuple[int, int] | None:
    """Return the first and the last line of a run of leaves that are not blank, counted from 1 as in an editor."""
    if not packed:
        return None
    begin = _unpacked(packed)[first]
    blank = len(text) - len(text.lstrip())
    start = begin + len(LINE_END.findall(text[:blank]))
    return start, max(start, begin + len(LINE_END.findall(text.rstrip())))


@lru_cache(maxsize=128)
def _unpacked(packed: str) -> tuple[int, ...]:
    """Return the first line of each leaf. Cached, since all leaves of a document are often listed."""
    return tuple(accumulate(map(int, packed.split(",")), initial=1))[1:]
