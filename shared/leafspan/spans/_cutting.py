"""Cuts a run of leaves that is too long to the leaves around its best hit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from leafspan.trace import CutToBudget, Trace
from leafspan.values import Candidate, Span


def cut_to_fit(found: Candidate, limit: int, count: Callable[[str], int], texts: Mapping[str, str]) -> Candidate:
    """The longest part of a run around its best hit that fits into a limit, but at least this hit's leaf.

    Leaves are added after and before it in turns, until the next leaf on either side does not fit.
    """
    span = found.span
    if span.size == 1:
        return found
    pieces = [texts[id_] for id_ in span.leaf_ids]
    best = best_hit(span, found.trace)
    first = last = 0 if best is None else best - span.first
    grows = True
    while grows:
        grows = False
        if last + 1 < span.size and count("".join(pieces[first : last + 2])) <= limit:
            last, grows = last + 1, True
        if first > 0 and count("".join(pieces[first - 1 : last + 1])) <= limit:
            first, grows = first - 1, True
    ordinal, start = span.anchor
    start += sum(map(len, pieces[:first])) - sum(map(len, pieces[: ordinal - span.first]))
    kept = replace(span, first=span.first + first, last=span.first + last, anchor=(span.first + first, start))
    length = count("".join(pieces[first : last + 1]))
    cut = CutToBudget(kept.first, kept.last, span.first, span.last, length, count("".join(pieces)))
    return replace(found, span=kept, trace=found.trace + Trace(cut=cut), words=None)


def best_hit(span: Span, trace: Trace) -> int | None:
    """The ordinal of the best leaf that a search found, by its probability or else its score."""
    scores = [(each.probability, each.ordinal) for each in trace.calibrated]
    scores = scores or [(each.score, each.first) for each in trace.fused if each.first == each.last]
    if not scores:
        # Scores of different searches cannot be compared, so only the first search's scores count.
        hits = trace.hits
        scores = [(hit.score, hit.ordinal) for hit in hits if (hit.source, hit.query) == (hits[0].source, hits[0].query)]
    inside = [(-score, ordinal) for score, ordinal in scores if span.first <= ordinal <= span.last]
    return min(inside)[1] if inside else None
