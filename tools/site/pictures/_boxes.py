"""Draws boxes in columns, and lines between them: sources, texts, and the paths between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.site.pictures._drawing import EMPTY, FOUND, INNER, MARGIN, MUTED, TEXT, Drawing, shortened

_ROW = 34
_GAP = 60


def draw_boxes(
    drawing: Drawing, columns: Sequence[Sequence[str]], lines: Mapping[tuple[str, str], bool], *, chosen: Sequence[str] = ()
) -> None:
    """Draw columns of boxes from left to right. A heavy line between two boxes means that the connection was used."""
    width = (INNER - _GAP * (len(columns) - 1)) / len(columns)
    rows = max(map(len, columns))
    place = {}
    for number, column in enumerate(columns):
        indent = (rows - len(column)) * _ROW / 2
        for row, text in enumerate(column):
            place[text] = (MARGIN + number * (width + _GAP), drawing.y + indent + row * _ROW)
    for (start, end), holds in lines.items():
        (x1, y1), (x2, y2) = place[start], place[end]
        drawing.curve(x1 + width, y1 + 12, x2, y2 + 12, FOUND if holds else "#d0d7de", 2 if holds else 1)
    for text, (x, y) in place.items():
        drawing.rectangle(
            x, y, width, 24, "#e8f5e9" if text in chosen else "#f6f8fa", line=FOUND if text in chosen else MUTED
        )
        drawing.text(x + 8, y + 16, shortened(text, int(width / 6.1)), size=11)
    drawing.y += rows * _ROW


def draw_table(drawing: Drawing, header: Sequence[str], rows: Sequence[Sequence[str]], returned: Sequence[int]) -> None:
    """Draw a table, and mark the returned rows."""
    width = INNER / len(header)
    for number, name in enumerate(header):
        drawing.text(MARGIN + number * width + 8, drawing.y + 12, name, size=11, colour=MUTED)
    drawing.y += 18
    for row, values in enumerate(rows):
        drawing.rectangle(MARGIN, drawing.y, INNER, 18, "#c8e6c9" if row in returned else EMPTY)
        for number, value in enumerate(values):
            drawing.text(MARGIN + number * width + 8, drawing.y + 13, value, size=11, colour=TEXT)
        drawing.y += 21
    drawing.y += 4
