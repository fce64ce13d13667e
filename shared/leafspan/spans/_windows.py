"""Windows: each hit with its neighbours. Windows that overlap or touch become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafspan.spans._uniting import unite
from leafspan.values import Candidate


def windows_around(hits: Sequence[Candidate], *, before: int, after: int) -> list[Candidate]:
    """The window around each hit: the leaf with its neighbours in its document.

    Windows of one document that overlap or touch become one, with the best score among their hits.

    Args:
        hits: Leaves.
        before: Leaves before each hit, >= 0.
        after: Leaves after each hit, >= 0.

    Returns:
        The windows, sorted by score, then document, then position.
    """
    windows = []
    for hit in sorted(hits, key=lambda hit: hit.order):
        if hit.leaf is not None:
            first, last = max(0, hit.span.first - before), min(hit.leaf.ancestors[-1].last, hit.span.last + after)
            trace = replace(hit.trace, window=(before, after))
            windows.append(replace(hit, span=replace(hit.span, first=first, last=last), trace=trace, words=None, leaf=None))
    return unite(windows, touching=True)
