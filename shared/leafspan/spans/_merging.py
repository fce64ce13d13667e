"""Auto-merging: where enough of a node's children were found, the node takes their place."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from leafspan.trace import Filled, Merge, Trace
from leafspan.values import Ancestor, Candidate, Leaf, Span

SCORES: dict[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "max": max}
"""How the score of a merged node comes from those of its children."""


@dataclass(frozen=True, slots=True)
class _Node:
    """What stands in the list at some level: a found leaf, leaves that fill a gap, or a merged node."""

    found: Candidate
    leaf: Leaf  # any leaf below it: its ancestors are those of the node
    children: int = 1  # how many children of its parent it stands for


def auto_merge(
    hits: Sequence[Candidate],
    *,
    threshold: float,
    fill_gaps: int,
    max_level: int | None,
    max_words: int | None,
    score: str,
) -> list[Candidate]:
    """The hits (leaves, each once), with nodes in place of children of which a larger share than ``threshold`` is there.

    Level by level: first, gaps of at most ``fill_gaps`` leaves between two hits of one parent are filled, at the mean of
    the two scores; then each parent of which strictly more than ``threshold`` of the children are there, and which has at
    most ``max_words``, takes their place, up to ``max_level`` (1: the parents of leaves). Its score is the mean or the
    highest of its children's; a mean of merged children is a mean of means. Hits below it that were not merged on the
    way up are taken up too, without changing its score. What fills a gap that was not merged is dropped again. Sorted by
    score, then document, then position.
    """
    nodes = [_Node(hit, hit.leaf) for hit in hits if hit.leaf is not None]
    done: list[Candidate] = []
    level = 0
    while nodes and (max_level is None or level < max_level):
        groups: dict[tuple[str, str, int], list[_Node]] = {}
        for node in nodes:
            if level >= len(node.leaf.ancestors):
                done.append(node.found)
            else:
                key = (node.leaf.document_id, node.leaf.version, node.leaf.ancestors[level].first)
                groups.setdefault(key, []).append(node)
        nodes = []
        for group in groups.values():
            parent = group[0].leaf.ancestors[level]
            filled = fill(group, fill_gaps) if level == 0 else group
            present = sum(node.children for node in filled)
            small = max_words is None or parent.words <= max_words
            if present / parent.children > threshold and small:
                inside, done = _taken_up(done, group[0].leaf, parent)
                nodes.append(_merged(filled, inside, parent, level + 1, SCORES[score]))
            else:
                done += [node.found for node in group]
        level += 1
    done += [node.found for node in nodes]
    return sorted(done, key=lambda found: found.order)


def fill(siblings: Sequence[_Node], limit: int) -> list[_Node]:
    """Leaves of one parent, in the order of the text, with a node for each gap of at most ``limit`` between two."""
    ordered = sorted(siblings, key=lambda node: node.found.span.first)
    filled = list(ordered[:1])
    for before, after in itertools.pairwise(ordered):
        first, last = before.leaf.ordinal + 1, after.leaf.ordinal - 1
        if 1 <= last - first + 1 <= limit:
            score = (before.found.score + after.found.score) / 2
            span = replace(before.found.span, first=first, last=last, anchor=(first, before.leaf.end))
            gap = Candidate(span, score, Trace(filled=(Filled(first, last, score),)), before.found.metadata)
            filled.append(_Node(gap, before.leaf, last - first + 1))
        filled.append(after)
    return filled


def _taken_up(done: Sequence[Candidate], leaf: Leaf, parent: Ancestor) -> tuple[list[Candidate], list[Candidate]]:
    """Of what was not merged on the way up, that which lies within a node above the leaf, and the rest."""
    inside: list[Candidate] = []
    outside: list[Candidate] = []
    for found in done:
        span = found.span
        same = (span.document_id, span.version) == (leaf.document_id, leaf.version)
        within = same and parent.first <= span.first and span.last <= parent.last
        (inside if within else outside).append(found)
    return inside, outside


def _merged(
    nodes: Sequence[_Node],
    taken_up: Sequence[Candidate],
    parent: Ancestor,
    level: int,
    combine: Callable[[Sequence[float]], float],
) -> _Node:
    # A gap of several leaves stands for as many children, and counts as many times.
    score = combine([node.found.score for node in nodes for _ in range(node.children)])
    trace = sum((found.trace for found in (*(node.found for node in nodes), *taken_up)), Trace())
    present = sum(node.children for node in nodes)
    if parent.children > 1:
        merge = Merge(level, parent.first, parent.last, present, parent.children, score)
        trace = replace(trace, merges=(*trace.merges, merge))
    leaf = nodes[0].leaf
    span = Span(leaf.document_id, leaf.version, parent.first, parent.last, (parent.first, parent.start))
    single = nodes[0].found.leaf if parent.first == parent.last else None
    found = Candidate(span, score, trace, nodes[0].found.metadata, words=parent.words, leaf=single)
    return _Node(found, leaf)
