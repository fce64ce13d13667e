"""Draws a RAPTOR tree: leaves at the bottom, summaries above the nodes that they cover, and which of them were found."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan import Passage
from leafspan.view import View
from tools.site.pictures._drawing import EMPTY, FOUND, INNER, MARGIN, SUMMARY, TEXT, Drawing

_LAYER = 46


def draw_tree(drawing: Drawing, index: View, document_id: str, passages: Sequence[Passage]) -> None:
    """Draw the tree of a document. A number is the rank of a found node."""
    leaves = index.leaves(document_id)
    summaries = index.summaries(document_id)
    drawing.y += 12
    ranks = {passage.id: rank for rank, passage in enumerate(passages, 1)}
    highest = max(summary.layer for summary in summaries)
    width = INNER / len(leaves)
    place = {leaf.id: (MARGIN + (number + 0.5) * width, drawing.y + highest * _LAYER) for number, leaf in enumerate(leaves)}
    for layer in range(1, highest + 1):
        row = [(each, each.summary.children) for each in summaries if each.layer == layer]
        # Above the middle of its children, if the other nodes leave room.
        row.sort(key=lambda pair: sum(place[child][0] for child in pair[1]) / len(pair[1]))
        room = INNER / len(row)
        for number, (each, _) in enumerate(row):
            place[each.id] = (MARGIN + (number + 0.5) * room, drawing.y + (highest - layer) * _LAYER)
    for each in summaries:
        x, y = place[each.id]
        for child in each.summary.children:
            drawing.line(x, y + 8, place[child][0], place[child][1] - 1, SUMMARY if each.id in ranks else "#d0d7de")
    for id_, (x, y) in place.items():
        leaf = y == drawing.y + highest * _LAYER
        half = max(width / 2 - 0.5, 1) if leaf else 11
        colour = EMPTY if id_ not in ranks else FOUND if leaf else SUMMARY
        drawing.rectangle(x - half, y - 1 if leaf else y - 8, 2 * half, 18 if leaf else 16, colour)
        if id_ in ranks:
            drawing.text(x, y + (30 if leaf else 4), str(ranks[id_]), size=11, colour=TEXT, anchor="middle", bold=True)
    drawing.y += highest * _LAYER + 42
