"""A document made into leaves: their places, and the texts under which they are indexed."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from leafspan.splitting import Cut, Heading, check_cuts
from leafspan.values import Ancestor, Document, Leaf, Section
from leafspan.words import count_words

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]\s*|\n\s*\n\s*")


def make_leaves(document: Document, version: str, cuts: Sequence[Cut]) -> list[Leaf]:
    """The leaves between the cuts, in order, each with its ancestors up to the whole document.

    Raises:
        InvalidDocument: if the cuts do not partition the text.
    """
    check_cuts(cuts, document.text)
    if not cuts:
        return []
    starts = [0, *(cut.end for cut in cuts[:-1])]
    words = [count_words(document.text[start : cut.end]) for start, cut in zip(starts, cuts, strict=True)]
    # A word that was cut in two counts in both leaves, but only once in what holds them.
    begun = [n - _is_within_word(document.text, start) for n, start in zip(words, starts, strict=True)]
    top = max(cut.level for cut in cuts) + 1
    levels = []
    for level in range(1, top + 1):
        lasts = [i for i, cut in enumerate(cuts) if cut.level >= level and i < len(cuts) - 1]
        levels.append(_nodes([*lasts, len(cuts) - 1], cuts, starts, words, begun, level))
    return [
        Leaf(document.id, version, i, starts[i], cuts[i].end, words[i], ancestors)
        for i, ancestors in enumerate(zip(*levels, strict=True))
    ]


def _is_within_word(text: str, place: int) -> bool:
    """Whether a cut at this place leaves a piece of one word on either side."""
    around = text[place - 1 : place + 1] if place else ""
    return len(around.strip()) == 2 and count_words(around) == 1


def _nodes(
    lasts: Sequence[int],
    cuts: Sequence[Cut],
    starts: Sequence[int],
    words: Sequence[int],
    begun: Sequence[int],
    level: int,
) -> list[Ancestor]:
    """For every leaf its node at a level whose nodes end with these leaves."""
    nodes: list[Ancestor] = []
    first = 0
    for last in lasts:
        # Its children end where the level below ends, and the last of them with itself.
        children = 1 + sum(cut.level >= level - 1 for cut in cuts[first:last])
        node = Ancestor(
            first, last, children, starts[first], cuts[last].end, words[first] + sum(begun[first + 1 : last + 1])
        )
        nodes += [node] * (last + 1 - first)
        first = last + 1
    return nodes


def find_sections(leaves: Sequence[Leaf], headings: Sequence[Heading]) -> list[Section]:
    """Which leaves stand below which heading, in the order of the headings; a heading reaches to the next of its rank."""
    ends = [leaf.end for leaf in leaves]
    sections: list[Section] = []
    ended: list[int] = []  # where each heading's text ends, computed from the last heading backwards
    following: list[Heading] = []
    for heading in reversed(headings):
        while following and following[-1].depth > heading.depth:
            following.pop()
        ended.append(following[-1].start if following else len(leaves) and ends[-1])
        following.append(heading)
    for heading, end in zip(headings, reversed(ended), strict=True):
        first = bisect_right(ends, heading.start)
        last = bisect_left(ends, end)
        # Two headings without text between them share a leaf.
        sections.append(Section(first, max(first, last), heading.depth, heading.text))
    return sections


def indexed_texts(document: Document, leaves: Sequence[Leaf], *, context_sentences: int = 0) -> list[str]:
    """The text that each leaf is indexed under: its own, and ``context_sentences`` of the leaf before and of that after.

    They stand in place of overlapping chunks.
    """
    if context_sentences:
        return [_with_neighbours(document.text, leaves, leaf.ordinal, context_sentences) for leaf in leaves]
    return [document.text[leaf.start : leaf.end] for leaf in leaves]


def indexed_heads(title: str | None, sections: Sequence[Section], leaves: int) -> list[str]:
    """The title and the headings that each of so many leaves is indexed under, empty where there is none."""
    paths: list[list[str]] = [[] for _ in range(leaves)]
    for section in sections:
        if section.text and section.text != title:
            for ordinal in range(section.first, section.last + 1):
                paths[ordinal].append(section.text)
    titles = [title] if title else []
    return ["\n".join([*titles, *([" > ".join(path)] if path else [])]) for path in paths]


def _with_neighbours(text: str, leaves: Sequence[Leaf], ordinal: int, count: int) -> str:
    leaf = leaves[ordinal]
    start, end = leaf.start, leaf.end
    if ordinal > 0:
        before = leaves[ordinal - 1]
        ends = [before.start, *(match.end() for match in _SENTENCE_END.finditer(text, before.start, before.end))]
        begins = [place for place in ends if place < before.end]
        start = begins[-count] if len(begins) >= count else before.start
    if ordinal + 1 < len(leaves):
        after = leaves[ordinal + 1]
        ends = [match.end() for match in _SENTENCE_END.finditer(text, after.start, after.end)]
        end = ends[count - 1] if len(ends) >= count else after.end
    return text[start:end]
