"""Windows: each hit with its neighbours, and one passage where windows meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafspan.trace import Trace
from leafspan.values import Found


def widen(hits: Sequence[Found], *, before: int, after: int) -> list[Found]:
    """Each hit (a leaf) with so many leaves before and after it, within its document.

    Windows of one document that overlap or touch become one, with the best score among their hits. Sorted by score, then
    document, then position.
    """
    runs: dict[tuple[str, str], list[tuple[int, int, Found]]] = {}
    for hit in hits:
        if hit.leaf is not None:
            end = hit.leaf.ancestors[-1].last
            first, last = max(0, hit.span.first - before), min(end, hit.span.last + after)
            runs.setdefault((hit.span.document_id, hit.span.version), []).append((first, last, hit))
    windows = []
    for found in runs.values():
        found.sort(key=lambda run: run[0])
        group = [found[0]]
        reach = found[0][1]
        for run in found[1:]:
            if run[0] > reach + 1:
                windows.append(_united(group, before, after))
                group = []
            group.append(run)
            reach = max(reach, run[1])
        windows.append(_united(group, before, after))
    return sorted(windows, key=lambda window: window.order)


def _united(runs: Sequence[tuple[int, int, Found]], before: int, after: int) -> Found:
    hits = sorted((hit for _, _, hit in runs), key=lambda hit: hit.order)
    best = hits[0]
    first, last = runs[0][0], max(last for _, last, _ in runs)
    trace = replace(sum((hit.trace for hit in hits), Trace()), window=(before, after))
    return replace(best, span=replace(best.span, first=first, last=last), trace=trace, words=None, leaf=None)
