"""Finds the leaves of a passage that are hits, and the hierarchy's nodes that it became or belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.lab.pictures._strip import Block, runs_named
from leafspan.lab.pictures._text import Marked
from leafspan.trace import Trace
from leafspan.values import Outline, Passage


def found_leaves(trace: Trace) -> dict[int, str]:
    """The ordinals of the found leaves, each with the searches that found it, in words."""
    if trace.layer:
        return {}
    said: dict[int, list[str]] = {}
    for hit in trace.hits:
        rank = "" if hit.rank is None else f"rank {hit.rank}, "
        said.setdefault(hit.ordinal, []).append(f"{hit.source}: {rank}score {hit.score:.3f}")
    for fused in trace.fused:
        for ordinal in range(fused.first, fused.last + 1) if fused.first == fused.last else ():
            said.setdefault(ordinal, [])
    return {ordinal: "; ".join([f"leaf {ordinal} was found", *lines]) for ordinal, lines in sorted(said.items())}


def pieces_of(passage: Passage) -> list[Marked]:
    """The passage's text in its leaves, with found leaves marked. Empty if the leaves are not known.

    If the passage is a single leaf, all of it was found, so that no mark is needed.
    """
    outline = passage.outline
    if outline is None or not fits(outline, passage.text) or len(outline.ends) == 1:
        return []
    found = found_leaves(passage.trace)
    (first, _), *_ = outline.runs
    starts = (0, *outline.ends)
    return [
        Marked(start, end, found.get(ordinal, f"leaf {ordinal}"), ordinal in found)
        for ordinal, (start, end) in enumerate(zip(starts, outline.ends, strict=False), start=first)
    ]


def fits(outline: Outline, text: str) -> bool:
    """Whether the outline's leaves match the text, which may have changed."""
    return bool(outline.ends) and outline.ends[-1] == len(text) and len(outline.runs) == 1


def block_of(passage: Passage, number: int | None, *, nodes: bool = False) -> Block:
    """The passage as a block on its document's strip."""
    outline = passage.outline
    runs = outline.runs if outline is not None else ()
    merged = [
        (merge.first, merge.last, f"level {merge.level}: {merge.present} of {merge.children} children were found")
        for merge in passage.trace.merges
    ]
    above = [
        (first, last, f"parent at level {level}")
        for level, (first, last) in enumerate(outline.nodes if nodes and outline is not None else (), start=1)
        if outline is not None and last - first + 1 < outline.leaves
    ]
    label = "" if number is None else str(number)
    start = f"passage {label}" if label else passage.kind
    score = f", score {passage.score:.3f}" if passage.is_scored else ""
    tooltip = f"{start}: {runs_named(runs)}{score}"
    inside = [each for each in found_leaves(passage.trace) if any(first <= each <= last for first, last in runs)]
    is_summary = passage.summary is not None
    return Block(runs, label, tooltip, inside, [*merged, *_outside(above, merged)], is_summary)


def _outside(above: Sequence[tuple[int, int, str]], merged: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    known = {(first, last) for first, last, _ in merged}
    return [node for node in above if node[:2] not in known]
