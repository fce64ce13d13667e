"""Parents: the ancestors of the hits."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.trace import EMPTY_TRACE
from leafspan.values import Ancestor, Candidate, Span

_Key = tuple[str, str, int, int]  # a span without its anchor, which compares faster


def parents_of(hits: Sequence[Candidate], *, level: int | None, max_words: int | None = None) -> list[Candidate]:
    """The ancestors of the hits at one level, each once, with the best score among its hits."""
    groups: dict[_Key, list[Candidate]] = {}
    ancestors: dict[_Key, tuple[int, Ancestor]] = {}
    for hit in hits:
        if hit.leaf is not None:
            own_level = min(level or len(hit.leaf.ancestors), len(hit.leaf.ancestors))
            while own_level and max_words is not None and hit.leaf.ancestors[own_level - 1].words > max_words:
                own_level -= 1
            document_id, version = hit.leaf.document_id, hit.leaf.version
            if not own_level:
                groups.setdefault((document_id, version, hit.span.first, hit.span.last), []).append(hit)
                continue
            node = hit.leaf.ancestors[own_level - 1]
            key = (document_id, version, node.first, node.last)
            groups.setdefault(key, []).append(hit)
            ancestors[key] = own_level, node
    parents = []
    for key, below in groups.items():
        if key not in ancestors:
            parents += below
            continue
        own_level, node = ancestors[key]
        span = Span(*key, (node.first, node.start))
        trace = sum((hit.trace for hit in below), EMPTY_TRACE).at_parent(own_level)
        parents.append(Candidate(span, max(hit.score for hit in below), trace, below[0].metadata, words=node.words))
    return parents
