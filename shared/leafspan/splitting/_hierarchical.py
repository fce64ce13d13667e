"""The default splitter: leaves of whole sentences, and parents that follow paragraphs and headings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import index
from typing import Any

from leafspan.checks import calling, shown, unusable, whole_number
from leafspan.errors import InvalidArgument
from leafspan.splitting._cuts import Cut
from leafspan.splitting._headings import Heading
from leafspan.splitting._layout import Layout, layout_of
from leafspan.splitting._sentences import at_grapheme_ends, cut_sentences
from leafspan.text import count_words

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*\Z|\r\n[^\S\n]*\r\n\s*\Z")

# Characters: longer runs, such as a URL, base64 data or a script without spaces, are counted as several words.
_LONGEST_WORD = 12

# Penalties for ending a node before a heading (times its depth), between paragraphs, between lines and between sentences.
# For comparison, ``group`` gives an empty node a cost of 1.
_AT_HEADING, _AT_PARAGRAPH, _AT_LINE, _AT_SENTENCE = 0.02, 0.15, 0.25, 0.6


@dataclass(frozen=True, slots=True)
class HierarchicalSplitter:
    """Leaves of whole sentences, and above them one or more levels of parents.

    A leaf holds whole paragraphs if they fit, otherwise whole sentences. A sentence longer than a leaf is cut between
    words. A leaf never reaches across a Markdown heading; the heading is at the start of the leaf that follows it. A leaf
    ends with its page or slide of a file, unless a sentence goes on there.

    Each node consists of whole nodes of the level below. The highest level is always the whole document.

    Args:
        leaf_words: Longest leaf, in units, >= 1. Default: 45.
        parent_words: Longest node of each level above the leaves, in units: ascending numbers > ``leaf_words``. Default:
            (150, 600).
        unit: What the sizes count. ``"words"``: runs of characters without white space, and each Chinese, Japanese or
            Korean character; but at least one word for every 12 characters. ``"characters"``: characters. Or a function
            that counts the tokens of a text. Default: ``"words"``.

    Raises:
        InvalidArgument: if a size is not a whole number >= 1, the sizes do not ascend, or there is no such unit.
    """

    leaf_words: int = 45
    parent_words: tuple[int, ...] = (150, 600)
    unit: str | Callable[[str], int] = "words"

    def __post_init__(self) -> None:
        if not isinstance(self.parent_words, list | tuple):
            raise InvalidArgument(f"parent_words must be a tuple of whole numbers, got {shown(self.parent_words)}")
        numbers = (self.leaf_words, *self.parent_words)
        sizes = [size for size in map(whole_number, numbers) if size is not None and size > 0]
        if len(sizes) < len(numbers) or sizes != sorted(set(sizes)):
            raise InvalidArgument(f"leaf_words and parent_words must be positive and ascending, got {shown(numbers)}")
        object.__setattr__(self, "leaf_words", sizes[0])
        object.__setattr__(self, "parent_words", tuple(sizes[1:]))
        if not callable(self.unit) and self.unit not in ("words", "characters"):
            raise InvalidArgument(f"unit must be 'words', 'characters' or a function, got {shown(self.unit)}")

    def __call__(self, text: str, done: Callable[[int], None] = lambda _: None) -> list[Cut]:
        """Return the cuts of a Markdown text. Leaves are level 0, and nodes of ``parent_words[i]`` are level i + 1."""
        return self.cuts(text, layout_of(text), done)

    def cuts(self, text: str, layout: Layout, done: Callable[[int], None] = lambda _: None) -> list[Cut]:
        """Return the cuts of a text with this layout."""
        return self.above(text, self._leaf_ends(text, layout, done) if text else [], layout)

    def above(self, text: str, ends: Sequence[int], layout: Layout) -> list[Cut]:
        """Return the cuts of a text whose leaves end at these characters: group the leaves, then the groups, and so on."""
        if not ends:
            return []
        starts = [0, *ends[:-1]]
        sizes = [self._measure(text[start:end]) for start, end in zip(starts, ends, strict=True)]
        penalties = _penalties(text, starts, layout)
        levels = [0] * len(ends)
        node_ends = list(range(1, len(ends) + 1))  # number of leaves up to the end of each node of the level below
        for level, limit in enumerate(self.parent_words, start=1):
            node_begins = [0, *node_ends[:-1]]
            group_ends = group(
                [sum(sizes[begin:end]) for begin, end in zip(node_begins, node_ends, strict=True)],
                [penalties[begin] for begin in node_begins],
                limit,
            )
            node_ends = [node_ends[index - 1] for index in group_ends]
            for leaf in node_ends:
                levels[leaf - 1] = level
        return [Cut(end, level) for end, level in zip(ends, levels, strict=True)]

    def describe(self) -> str:
        """Return the text that an index stores for this splitter."""
        unit = self.unit if isinstance(self.unit, str) else getattr(self.unit, "__qualname__", type(self.unit).__qualname__)
        return f"HierarchicalSplitter(leaf_words={self.leaf_words}, parent_words={self.parent_words}, unit={unit})"

    def options(self) -> dict[str, Any] | None:
        """Return the arguments that make an equal splitter, as plain values, or None if ``unit`` is a function."""
        if callable(self.unit):
            return None
        return {"leaf_words": self.leaf_words, "parent_words": list(self.parent_words), "unit": self.unit}

    def _measure(self, text: str) -> int:
        if self.unit == "characters":
            return len(text)
        if not callable(self.unit):
            return max(count_words(text), len(text) // _LONGEST_WORD)
        with calling("unit of the splitter,", self.unit, text):
            length = self.unit(text)
        with suppress(TypeError):
            if (whole := index(length)) >= 0:
                return whole
        raise unusable("unit of the splitter,", self.unit, "return a whole number >= 0", length, text)

    def _leaf_ends(self, text: str, layout: Layout, done: Callable[[int], None]) -> list[int]:
        """Return where leaves end. Each section is cut separately, so that no leaf reaches across a heading or a break."""
        ends: list[int] = []
        measure = partial(_words_or_too_many, self.leaf_words) if self.unit == "words" else self._measure
        for begin, body, end in _broken(self._sections(text, layout.headings), layout.breaks):
            done(body - begin)
            paragraphs = layout.paragraphs_within(body, end)
            markdown = paragraphs is None and bool(layout.headings)
            cuts = cut_sentences(
                text[body:end], self.leaf_words, measure, markdown=markdown, paragraphs=paragraphs, done=done
            )
            ends += [body + cut for cut in cuts] or ([end] if begin < end else [])
        return at_grapheme_ends(text, ends)

    def _sections(self, text: str, headings: Sequence[Heading]) -> list[tuple[int, int, int]]:
        """Return each section as (start, start of its body, end). The headings before the body join its first leaf."""
        sections = []
        begin = 0
        body = 0
        for heading in headings:
            # A heading without text below it joins the next heading, as long as both fit into a leaf.
            headings_so_far = text[begin : heading.end]
            blank = not text[body : heading.start].strip()
            if not blank or (begin < heading.start and self._measure(headings_so_far) > self.leaf_words):
                sections.append((begin, body, heading.start))
                begin = heading.start
            fits = self._measure(text[begin : heading.end]) <= self.leaf_words
            body = heading.end if fits else begin
        sections.append((begin, body, len(text)))
        return [(begin, body if text[body:end].strip() else end, end) for begin, body, end in sections if begin < end]


def _broken(sections: Iterable[tuple[int, int, int]], breaks: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the sections; those with breaks within, in pieces."""
    for begin, body, end in sections:
        within = breaks[bisect_right(breaks, begin) : bisect_left(breaks, end)]
        for first, after in pairwise([begin, *within, end]):
            yield first, min(max(first, body), after), after


def _words_or_too_many(most: int, text: str) -> int:
    """Return a text's size in words, or any number above ``most`` for a larger text, which is not counted."""
    at_least = len(text) // _LONGEST_WORD
    return at_least if at_least > most else max(count_words(text), at_least)


def _penalties(text: str, places: Sequence[int], layout: Layout) -> list[float]:
    headings, breaks = layout.headings, frozenset(layout.breaks)
    starts = [heading.start for heading in headings]
    penalties = []
    for place in places:
        before = bisect_right(starts, place) - 1
        if before >= 0 and starts[before] == place:
            penalties.append(_AT_HEADING * headings[before].depth)
        elif place in breaks or _PARAGRAPH_END.search(text, max(0, place - 40), place):
            penalties.append(_AT_PARAGRAPH)
        elif text[place - 1 : place] in "\r\n":
            penalties.append(_AT_LINE)
        else:
            penalties.append(_AT_SENTENCE)
    return penalties


def group(sizes: Sequence[int], penalties: Sequence[float], limit: int) -> list[int]:
    """Return where the best groups of consecutive pieces end, each as the index after its last piece.

    The best grouping has the lowest cost: the sum of ``((limit - size) / limit) ** 2`` over all groups, which favours full
    groups, plus the penalty of each cut between two groups.
    """
    costs = [0.0]  # at index i: the lowest cost of the first i pieces
    begins = [0]  # at index i: the start of that grouping's last group
    for end in range(1, len(sizes) + 1):
        size, least, chosen = 0, float("inf"), end - 1
        for start in range(end - 1, -1, -1):
            size += sizes[start]
            if size > limit and start < end - 1:
                break
            slack = max(limit - size, 0) / limit
            cost = costs[start] + slack * slack + (penalties[start] if start else 0.0)
            if cost <= least:
                least, chosen = cost, start
        costs.append(least)
        begins.append(chosen)
    ends = []
    end = len(sizes)
    while end:
        ends.append(end)
        end = begins[end]
    return ends[::-1]
