"""Draws a document as a strip from its first leaf to its last, with its headings, and with passages at their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from htpy import Element, Node, rect, svg, text, title

from leafspan.lab.pictures._text import Marked, spoken
from leafspan.trace import Trace
from leafspan.values import Outline, Passage, Section

_ROW = 17  # height of a row of headings, in pixels
_BAR = 22  # height of the row of passages
_BARE = 7  # height of a strip without headings
_HITS = 4  # height of a found leaf's mark
_NODES = 7  # height of a row of nodes
_GAP = 3
_MOST_DEPTHS = 3
_MOST_SECTIONS = 150  # drawn headings; with more, readers cannot see them apart
_MOST_TICKS = 150
_LEAST_LABEL = 3  # per cent; in a narrower section no heading is readable
_LEAST_WIDTH = 0.35  # per cent, so that one leaf of a thousand is still visible


@dataclass(frozen=True, slots=True)
class Block:
    """A passage on a strip."""

    runs: Sequence[tuple[int, int]]  # (first, last) ordinals
    label: str
    tooltip: str
    hits: Sequence[int] = ()  # ordinals of the leaves in it that were found
    nodes: Sequence[tuple[int, int, str]] = ()  # of the hierarchy, as (first, last) ordinals with tooltips
    is_summary: bool = False


def strip(outline: Outline, blocks: Sequence[Block], *, bare: bool = False) -> Element:
    """Draw the strip as an SVG that fills the available width. It is readable without colours, and by screen readers."""
    if bare:
        parts: list[Node] = [rect(".ls-track", x="0", y="0", width="100%", height=str(_BARE), rx="2", fill="#8883")]
        parts += [each for block in blocks for each in _block(block, outline.leaves, 0, _BARE)]
        return _drawing(".ls-strip.ls-bare", _BARE, _said(outline, blocks), parts)
    rows = list(_headings(outline))
    parts = []
    y = 0
    for row in rows:
        parts += [_section(section, outline.leaves, y) for section in row]
        y += _ROW
    parts.append(rect(".ls-track", x="0", y=str(y), width="100%", height=str(_BAR), rx="3", fill="#8883"))
    if outline.leaves <= _MOST_TICKS:
        parts += [
            rect(".ls-tick", x=_percent(ordinal, outline.leaves), y=str(y), width="1", height=str(_BAR), fill="#8886")
            for ordinal in range(1, outline.leaves)
        ]
    for block in blocks:
        parts += _block(block, outline.leaves, y)
    y += _BAR
    for layer in _layers(node for block in blocks for node in block.nodes):
        parts += [_node(node, outline.leaves, y + _GAP) for node in layer]
        y += _NODES + _GAP
    return _drawing(".ls-strip", y + 1, _said(outline, blocks), parts)


def _drawing(kind: str, height: int, said: str, parts: Sequence[Node]) -> Element:
    # The height is set twice, since notebooks have their own styles for SVG.
    look = {"width": "100%", "height": str(height), "style": f"height:{height}px"}
    return svg(kind, look, role="img", aria_label=spoken(said))[parts]


def _headings(outline: Outline) -> Iterator[list[Section]]:
    """The headings by their depths, the outermost first. A heading over the whole document is left out."""
    shown = [each for each in outline.sections if each.text and each.last - each.first + 1 < outline.leaves]
    for depth in sorted({each.depth for each in shown})[:_MOST_DEPTHS]:
        row = [each for each in shown if each.depth == depth]
        yield sorted(row, key=lambda each: each.first - each.last)[:_MOST_SECTIONS]


def _section(section: Section, leaves: int, y: int) -> Element:
    x, width = _place(section.first, section.last, leaves)
    # Each heading is an inner SVG, so that a heading longer than its section is cut.
    return svg(x=x, y=str(y), width=width, height=str(_ROW))[
        title[spoken(f"{section.text}: {leaves_named(section.first, section.last)}")],
        rect(".ls-section", x="0.5", y="1", width="100%", height=str(_ROW - 3), rx="2", fill="#8882"),
        100 * (section.last - section.first + 1) / leaves >= _LEAST_LABEL
        and text(".ls-label", x="5", y=str(_ROW - 5), font_size="10", fill="currentColor")[spoken(section.text)],
    ]


def _block(block: Block, leaves: int, y: int, height: int = _BAR) -> Iterator[Element]:
    for first, last in block.runs:
        x, width = _place(first, last, leaves)
        kind = ".ls-block.ls-over" if block.is_summary else ".ls-block"
        yield rect(kind, x=x, y=str(y), width=width, height=str(height), rx="2", fill="#4a7dd6", fill_opacity="0.7")[
            title[spoken(block.tooltip)]
        ]
    for ordinal in block.hits:
        x, width = _place(ordinal, ordinal, leaves)
        yield rect(".ls-found", x=x, y=str(y + _BAR - _HITS), width=width, height=str(_HITS), fill="#d97706")[
            title[f"found: leaf {ordinal}"]
        ]
    if block.label and block.runs:
        middle = _number(50 * (block.runs[0][0] + block.runs[0][1] + 1) / leaves)
        yield text(
            ".ls-number",
            x=f"{middle}%",
            y=str(y + 13),
            text_anchor="middle",
            font_size="11",
            font_weight="700",
            fill="currentColor",
        )[block.label]


def _node(node: tuple[int, int, str], leaves: int, y: int) -> Element:
    first, last, tooltip = node
    x, width = _place(first, last, leaves)
    return rect(".ls-node", x=x, y=str(y), width=width, height=str(_NODES - 2), rx="2", fill="none", stroke="#8a8a8a")[
        title[spoken(tooltip)]
    ]


def _layers(nodes: Iterable[tuple[int, int, str]]) -> list[list[tuple[int, int, str]]]:
    """The nodes in rows, so that no node of a row covers another: small nodes first, as in a tree that grows downwards."""
    rows: list[list[tuple[int, int, str]]] = []
    for node in sorted(dict.fromkeys(nodes), key=lambda each: (each[1] - each[0], each[0])):
        free = (row for row in rows if all(other[1] < node[0] or node[1] < other[0] for other in row))
        if (row := next(free, None)) is None:
            rows.append(row := [])
        row.append(node)
    return rows


def _place(first: int, last: int, leaves: int) -> tuple[str, str]:
    """The position and width of leaves, in per cent of the document."""
    width = max(100 * (last - first + 1) / leaves, _LEAST_WIDTH)
    return f"{_number(min(100 * first / leaves, 100 - width))}%", f"{_number(width)}%"


def _percent(ordinal: int, leaves: int) -> str:
    return f"{_number(100 * ordinal / leaves)}%"


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _said(outline: Outline, blocks: Sequence[Block]) -> str:
    what = [
        f"{f'passage {block.label}' if block.label else 'passage'} at {runs_named(block.runs)}" for block in blocks[:10]
    ]
    return "; ".join([f"document of {outline.leaves} leaves", *what])


def runs_named(runs: Sequence[tuple[int, int]]) -> str:
    """Runs of leaves in words, such as ``leaf 4, leaves 7 to 9``."""
    return ", ".join(leaves_named(first, last) for first, last in runs)


def leaves_named(first: int, last: int) -> str:
    """A run of leaves in words."""
    return f"leaf {first}" if first == last else f"leaves {first} to {last}"


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
    leaves = found_leaves(passage.trace)
    (first, _), *_ = outline.runs
    starts = (0, *outline.ends)
    return [
        Marked(start, end, leaves.get(ordinal, f"leaf {ordinal}"), ordinal in leaves)
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
    merged_runs = {(first, last) for first, last, _ in merged}
    return [node for node in above if node[:2] not in merged_runs]
