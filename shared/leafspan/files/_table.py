"""Rows of a table as Markdown: the header above them tells leaves the names of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leafspan.files._parts import Assembly

MOST_CELLS = 2_000_000
"""The most cells of a file that are read, including empty ones."""


class Tables:
    """Adds the tables of one file to an assembly, up to two million cells."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._cells = 0
        self.left_out: list[str] = []

    def add(self, rows: Iterable[Sequence[object]], name: str = "") -> None:
        """Add a table. Its first row that is not blank is its header. Each further row is a part; blank rows are left out.

        A table's name is a heading above it, which is part of its first row.
        """
        width, before = 0, 0  # the number of columns, and of the previous row in the run of lines
        for number, row in enumerate(rows, start=1):
            self._cells += max(1, len(row))
            if self._cells > MOST_CELLS:
                which = f"rows of {name}" if name else "rows"
                self.left_out.append(f"the {which} from {number:,} on are left out: more than {MOST_CELLS:,} cells")
                return
            cells = [_cell(each) for each in row]
            while cells and not cells[-1]:
                cells.pop()
            if not cells:
                continue
            if not width:
                width = len(cells)
                heading = f"# {name}\n\n" if name else ""
                self._assembly.add(f"{heading}{_line(cells, width)}\n{_line(['---'] * width, width)}", "row", number, name)
                continue
            if number == before + 1:
                self._assembly.add_text(_line(cells, width))
            else:
                self._assembly.add_lines(_line(cells, width), "row", number, name)
            before = number


def _line(cells: Sequence[str], width: int) -> str:
    return f"| {' | '.join([*cells, *[''] * (width - len(cells))])} |"


def _cell(value: object) -> str:
    """The text of a cell, in one line."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return " ".join(str(value).replace("|", "\\|").split())
