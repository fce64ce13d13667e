"""Decides which characters of a document to read."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.agents._limits import end_within, word_start
from leafspan.spans import grown_within
from leafspan.text import count_words
from leafspan.values import Passage


def range_to_read(
    leaves: Sequence[Passage], text: str, start: int, end: int, budget: int, *, around: bool
) -> tuple[int, int]:
    """A range from the start of a word to the end of a leaf, or of a word if no leaf ends within the budget."""
    stop = min(end, len(text))
    if around:
        inside = [ordinal for ordinal, leaf in enumerate(leaves) if leaf_start(leaf) < stop and leaf_end(leaf) > start]
        words = {ordinal: count_words(leaf.text) for ordinal, leaf in enumerate(leaves)}
        first, last = grown_within(inside[0], inside[-1], 0, len(leaves) - 1, words, budget)
        outer = leaf_start(leaves[first]), leaf_end(leaves[last])
        if end_within(text, budget, outer[0]) >= outer[1]:
            return outer
        # The passage itself is longer than the budget, or has few and very long words: only its start fits.
    begin = word_start(text, start)
    longest = end_within(text, budget, begin)
    if longest >= stop:
        return begin, _word_end(text, stop, longest)
    ends = [leaf_end(leaf) for leaf in leaves if begin < leaf_end(leaf) <= longest]
    return begin, ends[-1] if ends else longest


def _word_end(text: str, place: int, longest: int) -> int:
    """The end of the word around a place, at most ``longest``."""
    while place < longest and not text[place].isspace() and not text[place - 1].isspace():
        place += 1
    return place


def leaf_start(leaf: Passage) -> int:
    """The leaf's first character in the document, which every leaf has."""
    assert leaf.start is not None
    return leaf.start


def leaf_end(leaf: Passage) -> int:
    """The character after the leaf's last one."""
    assert leaf.end is not None
    return leaf.end
