"""Where a passage stands in the file that a person opens: pages, slides, cells, rows of a sheet."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any


def place_in_file(packed: Sequence[Sequence[Any]], lines: tuple[int, int]) -> str | None:
    """The place of these lines of a text, such as ``"pages 3-4"``; None if it is none. See ``leafspan.files.packed``."""
    found = [part for part in (_part_of(packed, line) for line in lines) if part is not None]
    if not found:
        return None
    (name, unit, first), (other_name, other_unit, last) = found[0], found[-1]
    if (name, unit) != (other_name, other_unit):
        return f"{_said(name, unit)} {first} to {_said(other_name, other_unit)} {last}"
    return f"{_said(name, unit)} {first}" if first == last else f"{_said(name, unit)}s {first}-{last}"


def _said(name: str, unit: str) -> str:
    return f"{name}, {unit}" if name else unit


def _part_of(packed: Sequence[Sequence[Any]], line: int) -> tuple[str, str, int] | None:
    """The name, the unit and the number of the part with this line; None for a line before all parts."""
    found = None
    for unit, first, steps, name in packed:
        begin = steps if isinstance(steps, int) else steps[0]
        if begin > line:
            break
        after = line - begin if isinstance(steps, int) else bisect_right(list(accumulate(steps)), line) - 1
        found = name, unit, first + after
    return found
