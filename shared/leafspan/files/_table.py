"""Rows of a table as Markdown, each text under its column, and values in their number formats, as a person sees them.

The header above the rows names the columns of leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import pairwise, takewhile
from math import isfinite
from typing import NamedTuple

from leafspan.files._record import Assembly

MOST_CELLS = 2_000_000  # the most cells of a file that are read, including empty ones
_LONGEST_REPEATED = 100  # characters of a cell merged over rows that each of these rows repeats
_FIRST_ROWS = 10  # among which the header is, below lines such as a table's title
_MOST_HEADER_ROWS = 5
_BAR = re.compile(r"(\\*)\|")


class Cell(NamedTuple):
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

    def add(self, rows: Iterable[Iterable[str | Cell]], name: str = "", *, header: int = 0) -> None:
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
        names = _markdown_line(_names([line for _, line in lines[top:below]], width))
        self._assembly.add(f"{heading}{names}\n{_markdown_line(['---'] * width)}", "row", lines[top][0], name)
        is_padded = width * len(lines) <= MOST_CELLS
        before = 0  # the number of the previous row in the run of lines
        for number, line in lines[below:]:
            text = _markdown_line([*map(_shown, line), *([""] * (width - len(line)) if is_padded else ())])
            if number == before + 1:
                self._assembly.add_text(text)
            else:
                self._assembly.add_lines(text, "row", number, name)
            before = number

    @property
    def left_out(self) -> list[str]:
        text = f"values of formulas that were never computed: {self.formulas:,}; save the file in a spreadsheet program"
        return [*self._left_out, *([text] if self.formulas else ())]

    def _grid(self, rows: Iterable[Iterable[str | Cell]], name: str) -> Iterator[list[str]]:
        """Yield the rows with each text under its column, and without blank cells at the end."""
        above: dict[int, tuple[int, str]] = {}  # by column: the number of rows that a merged cell still covers, its text
        for number, row in enumerate(rows, start=1):
            line: list[str] = []
            below: dict[int, tuple[int, str]] = {}
            for value in row:
                while above and len(line) in above:
                    _cover(line, above, below)
                if not isinstance(value, Cell):
                    line.append(_in_one_line(value))
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


def table(rows: Iterable[Iterable[str | Cell]], *, header: int = 0) -> str:
    """Return one table as Markdown."""
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


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _in_one_line(text: str) -> str:
    """Return the text of a cell in one line. A bar in it does not end the cell."""
    return " ".join((_BAR.sub(r"\1\1\\|", text) if "|" in text else text).split())


_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[(?P<bracket>[^\]]*)\]|(?P<general>General)|(?P<clock>AM/PM|A/P)'
    r"|(?P<when>y+|m+|d+|h+|s+)(?P<fraction>(?<=s)\.0+)?|(?P<digits>[#0?][#0?,]*(?:\.[#0?]*)?(?:e[+-]?[#0?]+)?|\.[#0?]+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"?|\\.|\[[^\]]*\]|[_*].|[^;"\\\[_*])*', re.DOTALL)
_LOCAL = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd hh:mm"}  # what they show depends on the reader's country
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST = datetime(1899, 12, 30)  # the day 0 of spreadsheets
_MOST_DAYS = 2_958_466  # up to the year 9999
_CURRENCY = re.compile(r"\$([^-\]]+)(?:-.*)?")


def formatted(value: object, code: str) -> str:
    """Return a value in a number format as in English, such as ``"12.5 %"`` for .125 in ``"0.0 %"``."""
    if isinstance(value, bool):
        return str(value).upper()
    if code == "General" and isinstance(value, int | float):
        return general(value)
    if isinstance(value, timedelta):
        moment = _FIRST + timedelta(seconds=value.seconds, microseconds=value.microseconds)
        return _in_format(value.total_seconds(), code if _parts(code, 0)[1] else "[h]:mm:ss", moment)
    if isinstance(value, time):
        value = datetime.combine(_FIRST, value)
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        default = "yyyy-mm-dd hh:mm:ss" if moment.time() != time() else "yyyy-mm-dd"
        code = _LOCAL.get(code, code)
        return _in_format((moment - _FIRST).total_seconds(), code if _parts(code, 0)[1] else default, moment)
    if isinstance(value, int | float):
        return _of_number(value, code)
    return "" if value is None else str(value)


def _of_number(value: float, code: str) -> str:
    if not isfinite(value):
        return str(value)
    if _parts(code, 0)[1] and 0 <= value < _MOST_DAYS:
        return formatted(_FIRST + timedelta(days=value), code)
    sections = _sections(code)
    number = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    tokens, _ = _parts(code, number)
    percents = sum(1 for kind, text in tokens if (kind, text) == ("other", "%"))
    digits = [text for kind, text in tokens if kind == "digits"]
    if any(text == "/" for kind, text in tokens if kind == "other") and digits:
        return general(value)  # in a format of fractions, such as 1/2
    size = abs(value) if number == 1 else value
    rest = _digits(size, percents, "".join(digits)) if digits else ""
    texts = []
    for kind, text in reversed(tokens):  # several groups of digits, such as 000-0000, are filled from the right
        if kind == "digits":
            digits.pop()
            texts.append(rest[-len(text) :] if digits else rest)
            rest = rest[: -len(text)]
        else:
            texts.append(general(size) if kind == "general" else "" if text == "@" else text)
    texts.reverse()
    if number == 0 and any(text == "@" for kind, text in tokens if kind == "other"):
        return general(value)
    return " ".join("".join(texts).split())


def general(value: float) -> str:
    """Return a number without a format."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return str(int(value))
    return f"{value:.15g}"


def _digits(value: float, percents: int, code: str) -> str:
    """Return a number in a format of digits, such as ``#,##0.00``."""
    whole, _, exponent = code.lower().partition("e")
    before, _, after = whole.partition(".")
    places, least = len(after.replace(",", "")), after.count("0")
    if exponent:
        mantissa, _, power = f"{value:.{places}e}".partition("e")
        return f"{mantissa}E{power[0] if power[0] == '-' or '+' in exponent else ''}{power[1:].zfill(exponent.count('0'))}"
    scaled = Decimal(repr(value) if isinstance(value, float) else value) * 100**percents
    scaled /= 1000 ** (len(before) - len(before.rstrip(",")))
    rounded = scaled.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP) if abs(scaled) < Decimal("1e24") else scaled
    sign, number = "-" if rounded < 0 else "", f"{abs(rounded):f}"
    integer, _, fraction = number.partition(".")
    while len(fraction) > least and fraction.endswith("0"):
        fraction = fraction[:-1]
    integer = integer.lstrip("0").zfill(before.count("0"))
    if "," in before.rstrip(","):
        integer = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", integer)
    return f"{sign}{integer}{'.' + fraction if fraction else ''}"


def _in_format(seconds: float, code: str, moment: datetime) -> str:
    tokens, _ = _parts(code, 0)
    is_clock = any(kind == "clock" for kind, _ in tokens)
    texts: list[str] = []
    before = ""  # the unit of the previous part
    for place, (kind, text) in enumerate(tokens):
        if kind not in ("when", "elapsed", "clock"):
            texts.append("" if text == "@" else text)
            continue
        unit, _, fraction = text.lower().partition(".")
        letter, length = unit[0], len(unit)
        following = next((each[0].lower() for name, each in tokens[place + 1 :] if name in ("when", "elapsed")), "")
        if kind == "clock":
            texts.append(("AM", "PM")[moment.hour >= 12][: 1 if text.lower() == "a/p" else 2])
        elif kind == "elapsed":
            texts.append(str(int(seconds // {"h": 3600, "m": 60, "s": 1}[letter])).zfill(length))
        elif letter == "y":
            texts.append(str(moment.year) if length > 2 else f"{moment.year % 100:02}")
        elif letter == "m" and (before == "h" or following == "s"):
            texts.append(str(moment.minute).zfill(min(length, 2)))
        elif letter == "m":
            name = _MONTHS[moment.month - 1]
            texts.append(str(moment.month).zfill(length) if length < 3 else {3: name[:3], 4: name}.get(length, name[0]))
        elif letter == "d":
            name = _DAYS[moment.weekday()]
            texts.append(str(moment.day).zfill(length) if length < 3 else name[:3] if length == 3 else name)
        elif letter == "h":
            texts.append(str((moment.hour - 1) % 12 + 1 if is_clock else moment.hour).zfill(min(length, 2)))
        else:
            part = f".{moment.microsecond:06}"[: len(fraction) + 1] if fraction else ""
            texts.append(str(moment.second).zfill(min(length, 2)) + part)
        before = letter if kind != "clock" else before
    return " ".join("".join(texts).split())


@lru_cache(1000)
def _sections(code: str) -> list[str]:
    """Return the parts of a format for positive and negative numbers, zero, and texts."""
    code = code or "General"
    sections, start = [], 0
    while start <= len(code):
        match = _SECTION.match(code, start)
        assert match is not None
        sections.append(match[0])
        start = match.end() + 1
    return sections


@lru_cache(1000)
def _parts(code: str, section: int) -> tuple[list[tuple[str, str]], bool]:
    """Return the tokens of a part of a format, as (kind, text), and whether it is a date or a time."""
    tokens: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(_sections(code)[section]):
        kind = match.lastgroup or ""
        text = match[kind] if kind else " " if match[0][0] == "_" else ""
        if kind == "bracket":
            if text.lower().strip("hms") == "" and text:
                tokens.append(("elapsed", text))
            elif currency := _CURRENCY.fullmatch(text):
                tokens.append(("quoted", currency[1]))
            continue
        if match["when"]:
            kind, text = "when", match["when"] + (match["fraction"] or "")
        tokens.append((kind, text))
    return tokens, any(kind in ("when", "elapsed") for kind, _ in tokens)
