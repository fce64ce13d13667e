"""Rows of a table as Markdown, each text under its column. The header above them names the columns of leaves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from leafspan.files._parts import Assembly

MOST_CELLS = 2_000_000
"""The most cells of a file that are read, including empty ones."""

_LONGEST_REPEATED = 100  # characters of a cell merged over rows that each of these rows repeats
_FIRST_ROWS = 10  # among which the header is, below lines such as a table's title
_MOST_HEADER_ROWS = 5
_BAR = re.compile(r"(\\*)\|")


class Cell(NamedTuple):
    """A cell of a table."""

    text: str
    rows: int = 1  # the number of rows over which it is merged
    columns: int = 1  # the number of columns over which it is merged


class _Merged(str):
    """The text of a merged cell, at a place that it covers. Rows show it if it is short and from above."""

    shown = False


class _Above(_Merged):
    shown = True


class Tables:
    """Adds the tables of one file to an assembly, up to two million cells."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._cells = 0
        self._left_out: list[str] = []
        self.formulas = 0  # without a value

    def add(self, rows: Iterable[Iterable[object]], name: str = "", *, header: int = 0) -> None:
        """Add a table of texts and Cells. Each row below the header is a part; blank rows are left out.

        The header is the first ``header`` rows, or else the first row, below rows that are titles. A table's name is a
        heading above it, which is part of its first row.
        """
        lines = [(number, line) for number, line in enumerate(self._grid(rows, name), start=1) if _texts(line)]
        if not lines:
            return
        width = max(len(line) for _, line in lines)
        head = [line for number, line in lines[:header] if number <= header]
        top = sum(1 for _ in takewhile(lambda line: _texts(line) == 1 < width == len(line), head[:-1]))
        top = top if header else _lines_above(lines[:_FIRST_ROWS])
        heading = f"# {name}\n\n" if name else ""
        for number, line in lines[:top]:
            self._assembly.add(f"{heading}{next(filter(None, line))}\n\n", "row", number, name)
            heading = ""
        below = len(head) or top + _header_rows([line for _, line in lines[top : top + _MOST_HEADER_ROWS]])
        names = _line(_names([line for _, line in lines[top:below]], width))
        self._assembly.add(f"{heading}{names}\n{_line(['---'] * width)}", "row", lines[top][0], name)
        is_padded = width * len(lines) <= MOST_CELLS
        before = 0  # the number of the previous row in the run of lines
        for number, line in lines[below:]:
            text = _line([*map(_shown, line), *([""] * (width - len(line)) if is_padded else ())])
            if number == before + 1:
                self._assembly.add_text(text)
            else:
                self._assembly.add_lines(text, "row", number, name)
            before = number

    @property
    def left_out(self) -> list[str]:
        """What was left out, and why."""
        text = f"values of formulas that were never computed: {self.formulas:,}; save the file in a spreadsheet program"
        return [*self._left_out, *([text] if self.formulas else ())]

    def _grid(self, rows: Iterable[Iterable[object]], name: str) -> Iterator[list[str]]:
        """Yield the rows with each text under its column, and without blank cells at the end."""
        above: dict[int, tuple[int, str]] = {}  # by column: the number of rows that a merged cell still covers, its text
        for number, row in enumerate(rows, start=1):
            line: list[str] = []
            below: dict[int, tuple[int, str]] = {}
            for value in row:
                while above and len(line) in above:
                    _cover(line, above, below)
                if not isinstance(value, Cell):
                    line.append(_in_one_line(_text(value)))
                    continue
                text = _in_one_line(value.text)
                for column in range(value.columns):
                    above.pop(len(line), None)
                    if value.rows > 1:
                        is_short = column == 0 and len(text) <= _LONGEST_REPEATED
                        below[len(line)] = value.rows - 1, _Above(text) if is_short else _Merged(text)
                    line.append(_Merged(text) if column else text)
            for column in sorted(above):
                line += [""] * (column - len(line))
                _cover(line, above, below)
            above = below
            while line and not line[-1]:
                line.pop()
            self._cells += max(1, len(line))
            if self._cells > MOST_CELLS:
                which = f"rows of {name}" if name else "rows"
                self._left_out.append(f"the {which} from {number:,} on are left out: more than {MOST_CELLS:,} cells")
                return
            yield line


def _cover(line: list[str], above: dict[int, tuple[int, str]], below: dict[int, tuple[int, str]]) -> None:
    """Add the place that a merged cell of a row above covers."""
    left, text = above.pop(len(line))
    if left > 1:
        below[len(line)] = left - 1, text
    line.append(text)


def table(rows: Iterable[Iterable[object]], *, header: int = 0) -> str:
    """Return a table as Markdown. See Tables.add."""
    assembly = Assembly()
    Tables(assembly).add(rows, header=header)
    return assembly.text


def _lines_above(lines: Sequence[tuple[int, Sequence[str]]]) -> int:
    """Return the number of rows that are titles of the table: one text in the first column, apart from what is below.

    They are merged cells, or above a blank row, or above at least three texts.
    """
    top = next((place for place, (_, line) in enumerate(lines) if _texts(line) > 1), 0)
    above, (number, header) = lines[:top], lines[top]
    if not all(line[0] for _, line in above) or number > _FIRST_ROWS:
        return 0
    is_apart = _texts(header) > 2 or number - lines[top - 1][0] > 1 or all(len(line) > 1 for _, line in above)
    return top if is_apart else 0


def _header_rows(lines: Sequence[Sequence[str]]) -> int:
    """Return the number of a header's rows. The row below cells that are merged over columns divides them."""
    for height, (line, below) in enumerate(pairwise(lines), start=1):
        merged = {column for column, each in enumerate(line) if isinstance(each, _Merged) and not each.shown}
        divided = merged | {column - 1 for column in merged}
        named = {column for column, each in enumerate(line) if each} - divided
        if not merged or any(
            below[column] and not isinstance(below[column], _Merged) for column in named if column < len(below)
        ):
            return height
    return max(1, len(lines))


def _names(lines: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the columns' names: the texts of the header's rows, from top to bottom."""
    columns = ([line[column] for line in lines if column < len(line)] for column in range(width))
    if len(lines) == 1:
        return [_shown(each[0]) if each else "" for each in columns]
    return [" ".join(dict.fromkeys(filter(None, map(str, each)))) for each in columns]


def _texts(line: Sequence[str]) -> int:
    return sum(1 for each in line if each and not isinstance(each, _Merged))


def _shown(text: str) -> str:
    return "" if isinstance(text, _Merged) and not text.shown else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    return "" if value is None else str(value)


def _in_one_line(text: str) -> str:
    """Return the text of a cell in one line. A bar in it does not end the cell."""
    return " ".join((_BAR.sub(r"\1\1\\|", text) if "|" in text else text).split())
