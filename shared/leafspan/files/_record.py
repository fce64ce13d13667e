"""What a file reader returns: the documents of a file, its unreadable parts, and its visible parts, such as pages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.splitting import LINE_END, MARKDOWN, PLAIN, Layout
from leafspan.values import Document

_MOST_PARSED = 2_000_000  # characters: a parser can need a thousand bytes of memory for each


class Record(NamedTuple):
    """A document of a file."""

    text: str
    title: str | None  # its title. None for the file's name
    metadata: Mapping[str, object]  # its metadata, as stored, beside the file's name
    part: str = ""  # the part of the file, such as ``page=3``. Empty for the whole file
    id: str | None = None  # its id, if the file gives it one. None for the file's name and the part
    left_out: Sequence[str] = ()  # what was left out, and why
    lines_before: int = 0  # number of lines of the file before the text
    markup: str = MARKDOWN  # the text's markup format
    parts: Sequence[Parts] | None = None  # None if the text has the lines of the file
    layout: Layout | None = None  # the text's structure, if it is known
    missing: Sequence[str] = ()  # like what was left out, but another reading would miss it, too


def parsed_record(text: str, title: str | None, markup: str) -> Record:
    """Return the document of a text in a markup format. Headings of a very long text are not read."""
    if len(text) <= _MOST_PARSED:
        return Record(text, title, {}, markup=markup)
    left_out = [f"its headings are left out: it has more than {_MOST_PARSED:,} characters"]
    return Record(text, title, {}, left_out=left_out, markup=PLAIN)


@dataclass(frozen=True, slots=True)
class FileDocument(Document):
    """A document that was read from a file."""

    file: str = ""
    path: Path = Path()
    spelling: str = ""
    lines_before: int = 0
    markup: str = MARKDOWN
    parts: Sequence[Parts] | None = None
    layout: Layout | None = None


class BadRecord(NamedTuple):
    """A part of a file that is not a document, and why."""

    reason: str


class MoreTime(NamedTuple):
    """The next step of reading may take longer than a file: it recognises a scanned page."""


_PLACE = re.compile(r"(.*)s (\d+)-(\d+)|(.*) (\d+)", re.DOTALL)


class Parts(NamedTuple):
    """Consecutive parts of a file."""

    unit: str  # what one is called, such as ``"page"``
    first: int  # the number of the first one
    starts: Sequence[int] | int  # lines of the text, from 1; an int if each line from there is a part
    name: str = ""  # what contains them, such as a sheet. Empty if that is the file


class Assembly:
    """Joins a file's text from its parts."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._line = 1
        self._runs: list[Parts] = []

    def add(self, text: str, unit: str, number: int, name: str = "") -> None:
        """Add a part, followed by a line end."""
        last = self._runs[-1] if self._runs else Parts("", 0, 0)
        if (
            (last.unit, last.name) == (unit, name)
            and isinstance(last.starts, list)
            and last.first + len(last.starts) == number
        ):
            last.starts.append(self._line)
        else:
            self._runs.append(Parts(unit, number, [self._line], name))
        self.add_text(text)

    def add_lines(self, text: str, unit: str, first: int, name: str = "") -> None:
        """Add parts of one line each."""
        self._runs.append(Parts(unit, first, self._line, name))
        self.add_text(text)

    def add_text(self, text: str) -> None:
        """Add a text that belongs to the part before it."""
        text = text if text.endswith("\n") else text + "\n"
        self._texts.append(text)
        self._line += sum(1 for _ in LINE_END.finditer(text))

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def record(self, title: str | None, left_out: Sequence[str] = ()) -> Record:
        return Record(self.text, title or None, {}, left_out=left_out, parts=tuple(self._runs))


def page_starts(text: str, parts: Sequence[Parts]) -> list[int]:
    """Return the characters at which pages and slides start. Rows and cells are too small for leaves of their own."""
    lines = [0, *(match.end() for match in LINE_END.finditer(text))]
    starts = [
        start
        for part in parts
        if part.unit in ("page", "scanned page", "slide") and not isinstance(part.starts, int)
        for start in part.starts
    ]
    return [lines[start - 1] for start in starts if start <= len(lines)]


def packed(parts: Sequence[Parts]) -> list[list[Any]]:
    """Return parts for JSON. Each line is stored as the distance from the previous one."""
    return [[unit, first, _steps(starts), name] for unit, first, starts, name in parts]


def _steps(starts: Sequence[int] | int) -> list[int] | int:
    return starts if isinstance(starts, int) else [line - before for before, line in pairwise([0, *starts])]


def without_names(parts: Sequence[Parts] | None) -> tuple[Parts, ...] | None:
    """Return the same parts without the names of their containers, which may be personal data."""
    return None if parts is None else tuple(each._replace(name="") for each in parts)


def place_in_file(
    packed: Sequence[Sequence[Any]], lines: tuple[int, int], best: tuple[int, int] | None = None
) -> str | None:
    """Return the place of these lines in the file, such as ``"pages 3-5"``, or None if unknown.

    The place of the ``best`` lines comes first: ``"page 4 (pages 3-5)"``.
    """
    parts = [part for part in (_part_of(packed, line) for line in lines) if part is not None]
    whole = _place(*parts[0], *parts[-1]) if parts else None
    first = place_in_file(packed, best) if best else None
    return f"{first} ({whole})" if first and first != whole else whole


def place_between(first: str, last: str) -> str:
    """Return the place from the start of one place to the end of another, each of a leaf."""
    begin, end = _PLACE.fullmatch(first), _PLACE.fullmatch(last)
    assert begin
    assert end
    return _place(begin[1] or begin[4], int(begin[2] or begin[5]), end[1] or end[4], int(end[3] or end[5]))


def _place(unit: str, first: int, other_unit: str, last: int) -> str:
    if unit != other_unit:
        return f"{unit} {first} to {other_unit} {last}"
    return f"{unit} {first}" if first == last else f"{unit}s {first}-{last}"


def _part_of(packed: Sequence[Sequence[Any]], line: int) -> tuple[str, int] | None:
    """Return the unit, after its container's name, and the number of the part with this line, or None before all parts."""
    place = None
    for unit, first, steps, name in packed:
        begin = steps if isinstance(steps, int) else steps[0]
        if begin > line:
            break
        after = line - begin if isinstance(steps, int) else bisect_right(list(accumulate(steps)), line) - 1
        place = f"{name}, {unit}" if name else unit, first + after
    return place
