"""Parents: the nodes above the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafspan.trace import Trace
from leafspan.values import Found, Span


def rise(hits: Sequence[Found], *, level: int | None) -> list[Found]:
    """The ancestors of the hits (leaves) at a level, in hit order, each once, with the best score among its hits.

    ``level`` 1 is the parents of leaves; None, or more than there are, is the whole document.
    """
    groups: dict[tuple[str, str, int], list[Found]] = {}
    for hit in hits:
        if hit.leaf is not None:
            height = len(hit.leaf.ancestors) if level is None else min(level, len(hit.leaf.ancestors))
            first = hit.leaf.ancestors[height - 1].first
            groups.setdefault((hit.span.document_id, hit.span.version, first), []).append(hit)
    parents = []
    for found in groups.values():
        leaf = found[0].leaf
        assert leaf is not None
        height = len(leaf.ancestors) if level is None else min(level, len(leaf.ancestors))
        node = leaf.ancestors[height - 1]
        span = Span(leaf.document_id, leaf.version, node.first, node.last, (node.first, node.start))
        trace = replace(sum((hit.trace for hit in found), Trace()), parent_level=height)
        best = max(hit.score for hit in found)
        parents.append(Found(span, best, trace, found[0].metadata, words=node.words))
    return parents
