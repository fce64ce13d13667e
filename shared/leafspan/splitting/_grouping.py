"""Grouping consecutive pieces into nodes of a size, cut where the text itself cuts best."""

from __future__ import annotations

from collections.abc import Sequence


def group(sizes: Sequence[int], weaknesses: Sequence[float], limit: int) -> list[int]:
    """Where groups of consecutive pieces end (indices after their last piece), each of at most ``limit`` in size.

    The grouping is the one with the least sum, over all groups, of ``((limit - size) / limit) ** 2``, which asks for
    full groups, and of the weakness of each cut between two groups; ``weaknesses[i]`` (>= 0) is that of a cut before
    piece ``i``. It is found exactly, by the dynamic programme of Knuth and Plass (Breaking paragraphs into lines, 1981).
    A piece larger than ``limit`` is a group by itself. Of equal groupings, the one with longer last groups.
    """
    best = [0.0]
    begin = [0]
    for end in range(1, len(sizes) + 1):
        size, least, chosen = 0, float("inf"), end - 1
        for start in range(end - 1, -1, -1):
            size += sizes[start]
            if size > limit and start < end - 1:
                break
            slack = max(limit - size, 0) / limit
            cost = best[start] + slack * slack + (weaknesses[start] if start else 0.0)
            if cost <= least:
                least, chosen = cost, start
        best.append(least)
        begin.append(chosen)
    ends = []
    end = len(sizes)
    while end:
        ends.append(end)
        end = begin[end]
    return ends[::-1]
