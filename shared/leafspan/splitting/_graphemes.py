"""Grapheme clusters, which readers see as one character and no leaf cuts: a flag, a letter with its accent, CRLF.

Source: Unicode Standard Annex 29, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

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
