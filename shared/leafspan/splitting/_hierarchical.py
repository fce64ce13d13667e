"""The default splitter: sentence-aligned leaves, and above them nodes that follow paragraphs and headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.splitting._cuts import Cut
from leafspan.splitting._grouping import group
from leafspan.splitting._headings import Heading, find_headings
from leafspan.splitting._sentences import cut_sentences
from leafspan.words import count_words

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*\Z|\r\n[^\S\n]*\r\n\s*\Z")

# How bad it is to end a node at a place: nothing at a heading (a little more the deeper it is), a little between
# paragraphs, more between lines, most between two sentences. The unit is that of ``group``: 1 is an empty node.
_AT_HEADING, _AT_PARAGRAPH, _AT_LINE, _AT_SENTENCE = 0.02, 0.15, 0.25, 0.6


@dataclass(frozen=True, slots=True)
class HierarchicalSplitter:
    """Cuts a text into leaves of up to ``leaf_words`` and groups them into nodes of up to each of ``parent_words``.

    Leaves end where sentences end, within paragraphs where these are longer than a leaf, and never reach across a
    Markdown heading; a heading stands at the head of the leaf that follows it. A sentence longer than a leaf is cut
    between words. Nodes of a level consist of whole nodes of the level below. Above them all stands the document.

    ``unit`` is what the numbers count: ``"words"`` (runs without white space, and each Chinese, Japanese or Korean
    character; a run of text without spaces counts a word for every twelve characters), ``"characters"``, or a function
    that counts the tokens of a text.

    Raises:
        InvalidArgument: if a size is not positive, or the sizes do not ascend.
    """

    leaf_words: int = 45
    parent_words: tuple[int, ...] = (150, 600)
    unit: str | Callable[[str], int] = "words"

    def __post_init__(self) -> None:
        if not isinstance(self.parent_words, list | tuple):
            raise InvalidArgument(f"parent_words must be a tuple of whole numbers, got {self.parent_words!r}")
        object.__setattr__(self, "parent_words", tuple(self.parent_words))
        sizes = (self.leaf_words, *self.parent_words)
        whole = all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes)
        if not whole or list(sizes) != sorted(set(sizes)):
            raise InvalidArgument(f"leaf_words and parent_words must be positive and ascending, got {sizes}")
        if not callable(self.unit) and self.unit not in ("words", "characters"):
            raise InvalidArgument(f"unit must be 'words', 'characters' or a function, got {self.unit!r}")

    def __call__(self, text: str) -> list[Cut]:
        """The cuts of ``text``; leaves are level 0, the nodes of ``parent_words[i]`` level i + 1."""
        if not text:
            return []
        headings = find_headings(text)
        ends = self._leaf_ends(text, headings)
        levels = [0] * len(ends)
        groups = list(range(1, len(ends) + 1))  # of the level below: after which leaf each of its nodes ends
        sizes = [self._measure(text[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        weaknesses = _weaknesses(text, [0, *ends[:-1]], headings)
        for level, limit in enumerate(self.parent_words, start=1):
            begins = [0, *groups[:-1]]
            cut = group(
                [sum(sizes[begin:end]) for begin, end in zip(begins, groups, strict=True)],
                [weaknesses[begin] for begin in begins],
                limit,
            )
            groups = [groups[index - 1] for index in cut]
            for leaf in groups:
                levels[leaf - 1] = level
        return [Cut(end, level) for end, level in zip(ends, levels, strict=True)]

    def describe(self) -> str:
        """What is recorded in an index that was made with this splitter."""
        unit = self.unit if isinstance(self.unit, str) else getattr(self.unit, "__qualname__", type(self.unit).__qualname__)
        return f"HierarchicalSplitter(leaf_words={self.leaf_words}, parent_words={self.parent_words}, unit={unit})"

    def options(self) -> dict[str, Any] | None:
        """What makes an equal splitter, as plain values; None where ``unit`` is a function."""
        if callable(self.unit):
            return None
        return {"leaf_words": self.leaf_words, "parent_words": list(self.parent_words), "unit": self.unit}

    def _measure(self, text: str) -> int:
        if callable(self.unit):
            return self.unit(text)
        if self.unit == "characters":
            return len(text)
        # An address, a base64 blob or a script without spaces would be one endless word.
        return max(count_words(text), len(text) // 12)

    def _leaf_ends(self, text: str, headings: Sequence[Heading]) -> list[int]:
        """Cut each section by itself, so that no leaf reaches across a heading."""
        ends: list[int] = []
        for begin, body, end in self._sections(text, headings):
            cuts = cut_sentences(text[body:end], self.leaf_words, self._measure, markdown=bool(headings))
            ends += [body + cut for cut in cuts] or ([end] if begin < end else [])
        return ends

    def _sections(self, text: str, headings: Sequence[Heading]) -> list[tuple[int, int, int]]:
        """(begin, begin of what is to be cut, end): the headings between the first two join the section's first leaf."""
        sections = []
        begin = 0
        body = 0
        for heading in headings:
            # A heading with nothing below it waits for the text that follows, as long as both fit into a leaf.
            waiting = text[begin : heading.end]
            blank = not text[body : heading.start].strip()
            if not blank or (begin < heading.start and self._measure(waiting) > self.leaf_words):
                sections.append((begin, body, heading.start))
                begin = heading.start
            fits = self._measure(text[begin : heading.end]) <= self.leaf_words
            body = heading.end if fits else begin
        sections.append((begin, body, len(text)))
        return [(begin, body if text[body:end].strip() else end, end) for begin, body, end in sections if begin < end]


def _weaknesses(text: str, places: Sequence[int], headings: Sequence[Heading]) -> list[float]:
    """How bad a cut is at each of the places."""
    starts = [heading.start for heading in headings]
    weaknesses = []
    for place in places:
        before = bisect_right(starts, place) - 1
        if before >= 0 and starts[before] == place:
            weaknesses.append(_AT_HEADING * headings[before].depth)
        elif _PARAGRAPH_END.search(text, max(0, place - 40), place):
            weaknesses.append(_AT_PARAGRAPH)
        elif text[place - 1 : place] in "\r\n":
            weaknesses.append(_AT_LINE)
        else:
            weaknesses.append(_AT_SENTENCE)
    return weaknesses
