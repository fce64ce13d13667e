"""Draws two lists side by side, with the place of each result of the first list in the second."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan import Passage
from tools.site.pictures._drawing import EMPTY, FOUND, MARGIN, MUTED, WIDTH, Drawing, shortened

_ROW = 24
_BOX = 320


def draw_order(
    drawing: Drawing, titles: tuple[str, str], before: Sequence[tuple[Passage, str]], after: Sequence[tuple[Passage, str]]
) -> None:
    """Draw two lists. Each has its results with a remark, best first."""
    right = WIDTH - MARGIN - _BOX
    for x, title in zip((MARGIN, right), titles, strict=True):
        drawing.text(x, drawing.y + 10, title, size=11, colour=MUTED)
    drawing.y += 18
    top = drawing.y
    rows = {passage.id: row for row, (passage, _) in enumerate(before)}
    for row, (passage, _) in enumerate(after):
        old = rows.get(passage.id)
        if old is not None:
            drawing.curve(
                MARGIN + _BOX, top + old * _ROW + 9, right, top + row * _ROW + 9, FOUND if row < old else MUTED, 1.5
            )
    for x, column in ((MARGIN, before), (right, after)):
        for row, (passage, remark) in enumerate(column):
            drawing.rectangle(x, top + row * _ROW, _BOX, 18, EMPTY)
            text = shortened(passage.text, 48 - len(remark))
            drawing.text(x + 6, top + row * _ROW + 13, f"{row + 1}  {text}", size=11)
            drawing.text(x + _BOX - 6, top + row * _ROW + 13, remark, size=11, colour=MUTED, anchor="end")
    drawing.y = top + _ROW * max(len(before), len(after))
