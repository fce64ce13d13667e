"""Documents of random structure, hits in them, and their nodes in the peers' form: each with its parent."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from leafspan.documents import make_leaves
from leafspan.splitting import Cut
from leafspan.values import Candidate, Document, Leaf
from tests.word_trees import hit

# From the square roots of primes: no weighted sum of some equals one of others, so means of different hits never tie.
SCORES = [math.sqrt(n) % 1 for n in range(2, 200) if all(n % d for d in range(2, math.isqrt(n) + 1))]


class Node(NamedTuple):
    """The leaves ``first`` to ``last`` of a document, ``level`` levels above the leaves."""

    document_id: str
    level: int
    first: int
    last: int

    @property
    def id(self):
        return f"{self.document_id}:{self.level}:{self.first}-{self.last}"


class Result(NamedTuple):
    """The leaves ``first`` to ``last`` of a document, found with ``score``."""

    document_id: str
    first: int
    last: int
    score: float | None

    @property
    def span(self):
        return self[:3]


def tree(*cut_levels, id="a"):
    """The leaves of a document of one-letter words, with a leaf a word, and nodes ending as ``Cut.level`` says."""
    text = "".join(f"{chr(97 + i % 26)} " for i in range(len(cut_levels)))
    return make_leaves(Document(id, text), "00000000", [Cut(2 * i + 2, level) for i, level in enumerate(cut_levels)])


def trees():
    """Leaves of one or two documents, below nodes of up to three levels and then the document."""
    cut_levels = st.lists(st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3]), min_size=1, max_size=16)
    return st.lists(cut_levels, min_size=1, max_size=2).map(
        lambda documents: [leaf for id, cuts in zip("ab", documents, strict=False) for leaf in tree(*cuts, id=id)]
    )


@st.composite
def trees_with_hits(draw):
    """The leaves, and some of them as hits, best first."""
    leaves = draw(trees())
    found = draw(st.lists(st.booleans(), min_size=len(leaves), max_size=len(leaves)).filter(any))
    chosen = [leaf for leaf, is_found in zip(leaves, found, strict=True) if is_found]
    scores = draw(st.permutations(SCORES))
    hits = [hit(leaf, score) for leaf, score in zip(chosen, scores, strict=False)]
    return leaves, sorted(hits, key=lambda found: found.order)


def results(merged: Iterable[Candidate]) -> list[Result]:
    return [Result(item.span.document_id, item.span.first, item.span.last, item.score) for item in merged]


def outermost(results: Sequence[Result]) -> list[Result]:
    """The results that are not part of another one, in their order."""
    return [result for result in results if not any(_holds(other, result) for other in results)]


def _holds(outer, inner):
    same = outer.document_id == inner.document_id
    return same and outer.first <= inner.first and inner.last <= outer.last and outer.span != inner.span


def ancestry(leaf: Leaf, *, only_children: bool = True, levels: int | None = None) -> list[Node]:
    """The leaf and its ancestors, upwards, as nodes.

    Without ``only_children``, a node with a single child is left out, and the child put in its place: leaves then lie at
    different depths.
    """
    nodes = [Node(leaf.document_id, 0, leaf.ordinal, leaf.ordinal)]
    for level, ancestor in enumerate(leaf.ancestors[:levels], start=1):
        if only_children or (ancestor.first, ancestor.last) != nodes[-1][2:]:
            nodes.append(Node(leaf.document_id, level, ancestor.first, ancestor.last))
    return nodes


def families(lines: Iterable[Sequence[Node]]) -> tuple[dict[Node, Node | None], dict[Node, list[Node]]]:
    """Of lines of ancestors: each node's parent, and each node's children."""
    parents: dict[Node, Node | None] = {}
    for line in lines:
        parents.update(zip(line, [*line[1:], None], strict=True))
    children: dict[Node, list[Node]] = {node: [] for node in parents}
    for node, parent in parents.items():
        if parent is not None:
            children[parent].append(node)
    return parents, children
