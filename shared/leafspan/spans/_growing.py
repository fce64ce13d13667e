"""Grows a span by the leaves around it."""

from __future__ import annotations

from collections.abc import Mapping


def grown_within(first: int, last: int, lowest: int, highest: int, words: Mapping[int, int], limit: int) -> tuple[int, int]:
    """The leaves from ``first`` to ``last``, grown on both sides for as long as they fit into a number of words.

    The side that has grown by fewer words grows next; if both are equal, the side before the span. A side ends at the first
    leaf that does not fit.
    """
    left = limit - sum(words[each] for each in range(first, last + 1))
    before = after = 0
    while True:
        fits_before = first > lowest and words[first - 1] <= left
        fits_after = last < highest and words[last + 1] <= left
        if fits_before and (before <= after or not fits_after):
            first -= 1
            before += words[first]
            left -= words[first]
        elif fits_after:
            last += 1
            after += words[last]
            left -= words[last]
        else:
            return first, last
