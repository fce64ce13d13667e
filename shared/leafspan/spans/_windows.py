"""Windows: each hit with its neighbours, and one passage where windows meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafspan.spans._uniting import unite
from leafspan.values import Candidate


def windows_around(hits: Sequence[Candidate], *, before: int, after: int) -> list[Candidate]:
    """Each hit (a leaf) with so many leaves before and after it, within its document.

    Windows of one document that overlap or touch become one, with the best score among their hits. Sorted by score, then
    document, then position.
    """
    windows = []
    for hit in sorted(hits, key=lambda hit: hit.order):
        if hit.leaf is not None:
            first, last = max(0, hit.span.first - before), min(hit.leaf.ancestors[-1].last, hit.span.last + after)
            trace = replace(hit.trace, window=(before, after))
            windows.append(replace(hit, span=replace(hit.span, first=first, last=last), trace=trace, words=None, leaf=None))
    return unite(windows, touching=True)
