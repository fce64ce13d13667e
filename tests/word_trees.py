"""Small documents with leaves of one word, to show what strategies do with hits."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from leafspan import Document
from leafspan.documents import make_leaves
from leafspan.splitting import Cut
from leafspan.trace import Trace, TracedHit
from leafspan.values import Candidate, Leaf, Span


def tree(*parents: int, grandparents: tuple[int, ...] = (), document_id: str = "d") -> list[Leaf]:
    """Leaves below parents, given by their numbers of leaves, below grandparents, given by their numbers of parents.

    Every leaf is one word of 4 characters: leaf 3 is ``text[12:16]``.
    """
    level = {}
    end = 0
    for number, size in enumerate(parents, start=1):
        end += size
        sums = [sum(grandparents[: i + 1]) for i in range(len(grandparents))]
        level[end] = 2 if number in sums else 1
    cuts = [Cut(4 * i, level.get(i, 0)) for i in range(1, end + 1)]
    text = "".join(f"w{i:02} " for i in range(end))
    return make_leaves(Document(document_id, text), "00000000", cuts)


def hits(leaves: list[Leaf], scores: Mapping[int, float]) -> list[Candidate]:
    """These leaves as hits, best first."""
    return sorted((hit(leaves[ordinal], score) for ordinal, score in scores.items()), key=lambda found: found.order)


def hit(leaf: Leaf, score: float) -> Candidate:
    span = Span(leaf.document_id, leaf.version, leaf.ordinal, leaf.ordinal, (leaf.ordinal, leaf.start))
    trace = Trace(hits=(TracedHit(leaf.ordinal, score),))
    return Candidate(span, score, trace, {"key": "value"}, words=leaf.words, leaf=leaf)


def spans(found: list[Candidate]) -> list[tuple[int, int, float]]:
    """(first leaf, last leaf, score), in the order of the results."""
    return [(item.span.first, item.span.last, item.score) for item in found]


@st.composite
def trees_with_hits(draw: st.DrawFn) -> tuple[list[Leaf], list[Candidate]]:
    """A random tree of up to three levels, and hits among its leaves with scores of their own."""
    parents = draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    grandparents: list[int] = []
    while sum(grandparents) < len(parents):
        grandparents.append(draw(st.integers(1, len(parents) - sum(grandparents))))
    leaves = tree(*parents, grandparents=tuple(grandparents))
    chosen = [leaf.ordinal for leaf in leaves if draw(st.booleans())]
    scores = draw(st.lists(st.integers(0, 1000), unique=True, min_size=len(chosen), max_size=len(chosen)))
    return leaves, hits(leaves, {ordinal: score / 1000 for ordinal, score in zip(chosen, scores, strict=True)})
