"""Answers to the requests of a strategy, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from leafspan.search._words import best_leaves
from leafspan.strategies import LexicalMatches, MatchingNodes, NodeHit, NodeHits
from leafspan.values import SUMMARY_VERSION, Hit, LeafId

V = "00000000"


def node_hits(*hits: NodeHit) -> NodeHits:
    """The columns for these nodes, in this order."""
    firsts, lasts, ranks, scores, shares = zip(*hits, strict=True) if hits else ((),) * 5
    whole = [np.array(column, np.intp) for column in (firsts, lasts, ranks)]
    return NodeHits(whole[0], whole[1], whole[2], np.array(scores, np.float64), np.array(shares, np.float64))


NO_NODES = node_hits()
SIZE = 10  # leaves of each document


def leaf(name: str) -> LeafId:
    """``"a0"`` is the leaf 0 of document a, ``"s0"`` the summary 0."""
    return LeafId(name[0], f"{SUMMARY_VERSION}0" if name[0] == "s" else V, int(name[1:]))


def hits(scores: Mapping[str, float]) -> list[Hit]:
    return [Hit(leaf(name), score) for name, score in scores.items()]


def row(name: str) -> int:
    """The row of a leaf: each document has ten leaves, and rows are in the order of the alphabet."""
    return (ord(name[0]) - ord("a")) * SIZE + int(name[1:])


def matches(
    words: Mapping[str, float],
    *,
    among: Sequence[str] = (),
    larger: Sequence[NodeHits] = (NO_NODES,) * 3,
    soft: Mapping[str, float] | None = None,
    size: int = SIZE,
) -> LexicalMatches:
    """What a search by words finds: leaves and summaries with their BM25, best first, and more leaves in larger nodes."""
    leaves = {name: score for name, score in words.items() if name[0] != "s"}
    best = best_leaves(np.array([row(name) for name in leaves], np.intp), np.array([*leaves.values()], np.float64))

    def rows(document_id: str) -> slice:
        return slice(row(f"{document_id}0"), row(f"{document_id}0") + size)

    nodes = MatchingNodes(rows, (best, *larger))
    return LexicalMatches(
        hits(words),
        10.0,
        nodes,
        [leaf(name) for name in (*leaves, *among)],
        soft or {},
        words_found=max(leaves.values(), default=0.0) / 10,
    )
