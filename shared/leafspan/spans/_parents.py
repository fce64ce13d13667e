"""Parents: the nodes above the hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leafspan.trace import Trace
from leafspan.values import Ancestor, Candidate, Span


def parents_of(hits: Sequence[Candidate], *, level: int | None) -> list[Candidate]:
    """The ancestors of the hits (leaves) at a level, in hit order, each once, with the best score among its hits.

    ``level`` 1 is the parents of leaves; None, or more than there are, is the whole document.
    """
    groups: dict[Span, list[Candidate]] = {}
    nodes: dict[Span, tuple[int, Ancestor]] = {}
    for hit in hits:
        if hit.leaf is not None:
            height = min(level or len(hit.leaf.ancestors), len(hit.leaf.ancestors))
            node = hit.leaf.ancestors[height - 1]
            span = Span(hit.leaf.document_id, hit.leaf.version, node.first, node.last, (node.first, node.start))
            groups.setdefault(span, []).append(hit)
            nodes[span] = height, node
    parents = []
    for span, below in groups.items():
        height, node = nodes[span]
        trace = replace(sum((hit.trace for hit in below), Trace()), parent_level=height)
        parents.append(Candidate(span, max(hit.score for hit in below), trace, below[0].metadata, words=node.words))
    return parents
