"""Parents instead of leaves: of each hit, or (auto-merging) where enough of a parent's children were found."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import NamedTuple

from leafspan.trace import EMPTY_TRACE, Filled, KeptApart, Merge, Trace
from leafspan.values import Ancestor, Candidate, Leaf, Span

SCORES: dict[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "max": max}


@dataclass(frozen=True, slots=True)
class _Node:
    """A hit, leaves that fill a gap, or a merged parent."""

    candidate: Candidate
    leaf: Leaf  # any of its leaves
    children: int = 1  # number of its parent's children that it covers


class _Finished(NamedTuple):
    """A candidate that was not merged further, and a function that makes the trace step with the reason."""

    candidate: Candidate
    apart: Callable[[], KeptApart | None] | None

    def traced(self) -> Candidate:
        """The candidate with that step in its trace."""
        step = self.apart() if self.apart else None
        return self.candidate if step is None else replace(self.candidate, trace=self.candidate.trace.not_merged(step))


def auto_merge(
    hits: Sequence[Candidate],
    *,
    threshold: float,
    fill_gaps: int,
    max_level: int | None,
    max_words: int | None,
    score: str,
    traced: int | None = None,
) -> list[Candidate]:
    """The hits, with a parent instead of its children if enough of them were found.

    Gaps between two hits of one parent are filled first, with the mean of the two scores. Then parents replace their
    children, level by level. Candidates inside a merged parent that were not merged at a lower level become part of the
    parent without changing its score. Leaves that fill a gap are dropped if their parent is not merged.
    """
    nodes = [_Node(hit, hit.leaf) for hit in hits if hit.leaf is not None]
    finished: list[_Finished] = []
    level = 0
    while nodes and (max_level is None or level < max_level):
        groups: dict[tuple[str, str, int], list[_Node]] = {}
        for node in nodes:
            if level >= len(node.leaf.ancestors):
                finished.append(_Finished(node.candidate, None))
            else:
                key = (node.leaf.document_id, node.leaf.version, node.leaf.ancestors[level].first)
                groups.setdefault(key, []).append(node)
        nodes = []
        for group in groups.values():
            parent = group[0].leaf.ancestors[level]
            filled = fill(group, fill_gaps) if level == 0 else group
            present = sum(node.children for node in filled)
            short_enough = max_words is None or parent.words <= max_words
            if present / parent.children > threshold and short_enough:
                inside, finished = _inside_and_outside(finished, group[0].leaf, parent)
                nodes.append(_merged(filled, inside, parent, level + 1, SCORES[score]))
            else:
                apart = None
                if parent.children > 1:
                    option, limit = ("threshold", threshold) if short_enough else ("max_words", max_words or 0)
                    apart = partial(_apart, level + 1, parent, present, option, limit)
                finished += [_Finished(node.candidate, apart) for node in group]
        level += 1
    finished += [_Finished(node.candidate, partial(_stopped, node.leaf, level)) for node in nodes]
    finished.sort(key=lambda each: each.candidate.order)
    most = len(finished) if traced is None else traced
    return [each.traced() if place < most else each.candidate for place, each in enumerate(finished)]


def _apart(level: int, parent: Ancestor, present: int, option: str, limit: float) -> KeptApart:
    """The trace entry of a parent at this level that does not replace its children."""
    return KeptApart(level, parent.first, parent.last, present, parent.children, parent.words, option, limit)


def _stopped(leaf: Leaf, level: int) -> KeptApart | None:
    """The trace entry of the next larger node above ``level``, the highest level allowed, if any."""
    for number, parent in enumerate(leaf.ancestors[level:], start=level + 1):
        if parent.children > 1:
            return _apart(number, parent, 1, "max_level", level)
    return None


def fill(siblings: Sequence[_Node], limit: int) -> list[_Node]:
    """Leaves of one parent, in the order of the text, with a node for each gap of at most ``limit`` leaves between them."""
    ordered = sorted(siblings, key=lambda node: node.candidate.span.first)
    filled = list(ordered[:1])
    for before, after in itertools.pairwise(ordered):
        first, last = before.leaf.ordinal + 1, after.leaf.ordinal - 1
        if 1 <= last - first + 1 <= limit:
            score = (before.candidate.score + after.candidate.score) / 2
            span = replace(before.candidate.span, first=first, last=last, anchor=(first, before.leaf.end))
            gap = Candidate(span, score, Trace(filled=(Filled(first, last, score),)), before.candidate.metadata)
            filled.append(_Node(gap, before.leaf, last - first + 1))
        filled.append(after)
    return filled


def _inside_and_outside(
    candidates: Sequence[_Finished], leaf: Leaf, parent: Ancestor
) -> tuple[list[Candidate], list[_Finished]]:
    inside: list[Candidate] = []
    outside: list[_Finished] = []
    for each in candidates:
        span = each.candidate.span
        is_same = (span.document_id, span.version) == (leaf.document_id, leaf.version)
        if is_same and parent.first <= span.first and span.last <= parent.last:
            inside.append(each.candidate)
        else:
            outside.append(each)
    return inside, outside


def _merged(
    nodes: Sequence[_Node],
    inside: Sequence[Candidate],
    parent: Ancestor,
    level: int,
    combine: Callable[[Sequence[float]], float],
) -> _Node:
    """The parent that replaces its children ``nodes`` and the unmerged candidates inside of it."""
    # A filled gap counts once for each of its leaves, and so does its score.
    score = combine([node.candidate.score for node in nodes for _ in range(node.children)])
    trace = sum((each.trace for each in (*(node.candidate for node in nodes), *inside)), EMPTY_TRACE)
    present = sum(node.children for node in nodes)
    if parent.children > 1:
        merge = Merge(level, parent.first, parent.last, present, parent.children, score)
        trace = replace(trace, merges=(*trace.merges, merge))
    leaf = nodes[0].leaf
    span = Span(leaf.document_id, leaf.version, parent.first, parent.last, (parent.first, parent.start))
    single = nodes[0].candidate.leaf if parent.first == parent.last else None
    metadata = nodes[0].candidate.metadata
    return _Node(Candidate(span, score, trace, metadata, words=parent.words, leaf=single), leaf)


def parents_of(hits: Sequence[Candidate], *, level: int | None, max_words: int | None = None) -> list[Candidate]:
    """The ancestors of the hits at one level, each once with its best score; for one that is too long, a lower one."""
    # The keys are spans without their anchors, which compare faster.
    groups: dict[tuple[str, str, int, int], tuple[int, Ancestor | None, list[Candidate]]] = {}
    for hit in hits:
        if hit.leaf is None:
            continue
        own_level, node = 0, None
        for number, each in enumerate(hit.leaf.ancestors[:level], start=1):
            if max_words is None or each.words <= max_words:
                own_level, node = number, each
        span = node or hit.span
        key = (hit.leaf.document_id, hit.leaf.version, span.first, span.last)
        groups.setdefault(key, (own_level, node, []))[2].append(hit)
    parents = []
    for key, (own_level, node, below) in groups.items():
        if node is None:
            parents += below
            continue
        trace = sum((hit.trace for hit in below), EMPTY_TRACE).at_parent(own_level)
        score = max(hit.score for hit in below)
        parents.append(Candidate(Span(*key, (node.first, node.start)), score, trace, below[0].metadata, words=node.words))
    return parents


def has_more(row: Sequence[Candidate], than: Sequence[Candidate]) -> bool:
    """Whether a list has leaves or summaries that another one does not have."""
    leaves = {id_ for each in than for id_ in each.span.leaf_ids}
    return any(id_ not in leaves for each in row for id_ in each.span.leaf_ids)
