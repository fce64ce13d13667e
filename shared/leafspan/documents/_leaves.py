"""A document's leaves: their places, and the texts that are indexed for them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter

from leafspan.splitting import Cut, Heading, Table, check_cuts
from leafspan.text import count_words
from leafspan.values import TABLE_DEPTH, Ancestor, Document, Leaf, Section

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
