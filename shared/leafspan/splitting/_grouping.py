"""Grouping consecutive pieces into nodes of limited size, which end where the text has its best breaks."""

from __future__ import annotations

from collections.abc import Sequence


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
