"""Draws documents as strips of leaves: the found leaves, the added leaves, and the passages that they became."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan import Passage
from leafspan.view import View
from tools.site.pictures._drawing import ADDED, EMPTY, FOUND, INNER, MARGIN, OUTLINE, TEXT, Drawing

HEIGHT = 22
LEGEND = {FOUND: "found", ADDED: "came along", EMPTY: "not returned"}
FOUND_ONLY = {FOUND: "found and returned", EMPTY: "not returned"}


def draw_strips(drawing: Drawing, index: View, passages: Sequence[Passage], *, most: int = 2) -> None:
    """Draw a strip for each document with passages, up to ``most``, in the order of their best passages.

    A number below a strip is the rank of the passage that its bracket spans.
    """
    for id_ in list(dict.fromkeys(passage.document_id for passage in passages))[:most]:
        drawing.text(MARGIN, drawing.y + 10, index.get(id_).title or id_, size=11)
        drawing.y += 16
        draw_strip(drawing, index, id_, [(rank, each) for rank, each in enumerate(passages, 1) if each.document_id == id_])


def draw_strip(drawing: Drawing, index: View, document_id: str, ranked: Sequence[tuple[int | None, Passage]]) -> None:
    """Draw one document. Each leaf is as wide as its number of words. A passage without a rank has no bracket."""
    leaves = index.leaves(document_id)
    words = [len(leaf.text.split()) or 1 for leaf in leaves]
    scale = (INNER - 1) / sum(words)
    ends = [0]
    for count in words:
        ends.append(ends[-1] + count)
    left = [MARGIN + end * scale for end in ends]

    found = {hit.ordinal for _, passage in ranked for hit in passage.trace.hits}
    spans = [(rank, *span_of(passage)) for rank, passage in ranked]
    returned = {ordinal for _, first, last in spans for ordinal in range(first, last + 1)}
    top = drawing.y
    for ordinal in range(len(leaves)):
        fill = EMPTY if ordinal not in returned else FOUND if ordinal in found else ADDED
        width = max(left[ordinal + 1] - left[ordinal] - 1, 1)
        drawing.rectangle(left[ordinal], top, width, HEIGHT, fill)
    taken: list[tuple[float, float]] = []
    for rank, first, last in spans:
        if rank is None:
            continue
        start, end = left[first], left[last + 1] - 1
        bottom = top + HEIGHT + 4
        drawing.line(start, bottom, end, bottom, OUTLINE, 2)
        middle = (start + end) / 2
        lower = any(abs(middle - other) < 13 and row == 0 for other, row in taken)
        taken.append((middle, 1 if lower else 0))
        drawing.text(middle, bottom + (24 if lower else 13), str(rank), size=11, colour=TEXT, anchor="middle", bold=True)
    drawing.y += HEIGHT + (8 if not taken else 36 if any(row for _, row in taken) else 26)


def span_of(passage: Passage) -> tuple[int, int]:
    """The ordinals of its first and last leaf."""
    first, _, last = passage.id.rpartition("#")[2].partition("-")
    return int(first), int(last or first)
