"""The entities that finders return, and the choice between overlapping ones."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, cycle, product
from typing import Any, NamedTuple, TypeAlias

from leafspan.errors import FinderFailed
from leafspan.text import BROKEN_WORD, fold


class Found(NamedTuple):
    """An entity in a text.

    Attributes:
        start: Its first character.
        end: The character after its last one.
        kind: Kind of the entity, such as ``"PERSON"`` or ``"EMAIL_ADDRESS"``.
        value: The entity's main spelling, if it has several. Default: None, the text itself.
    """

    start: int
    end: int
    kind: str
    value: str | None = None


Finder: TypeAlias = Callable[[str], Iterable[Found | tuple[int, int, str]]]
"""A function from a text to the entities in it, in any order; they may overlap."""


_SOFT_HYPHEN = "\xad"
_HYPHENS = "-\u2010\u2011"

_ToPlace: TypeAlias = Callable[[int], int]
"""A function from a place in one text to its place in another."""


def find_all(finders: Sequence[Finder], text: str, kept: Iterable[tuple[int, int]] = ()) -> list[Found]:
    """Return the entities that the finders find, in the order of the text, without overlaps.

    Each finder also searches the text as a search index reads it: without invisible characters and accents that stand
    alone, and with the halves of words joined that a line's end breaks.

    Of overlapping entities the longest wins; of equally long ones the first in the text, then the first finder's entity.
    What remains of the others becomes separate entities, so that no part of an entity stays in the text.

    Raises:
        FinderFailed: if a finder fails, or returns something other than entities in the text.
    """
    readings = _readings(text)
    found = [each for finder in finders for each in _checked(finder, text)]
    found += [each for finder in finders for reading in readings.items() for each in _in_reading(finder, text, *reading)]
    chosen: list[Found] = []
    if not found:
        return []
    taken = bytearray(len(text))
    for start, end in kept:
        taken[start:end] = b"\1" * (end - start)
    for each in sorted(found, key=lambda each: (each.start - each.end, each.start)):
        for start, end in _free_runs(taken, each):
            if (start, end) == (each.start, each.end):
                chosen.append(each)
            elif piece := text[start:end].strip():  # white space alone needs no pseudonym
                first = start + text[start:end].index(piece)
                chosen.append(Found(first, first + len(piece), each.kind))
            taken[each.start : each.end] = b"\1" * (each.end - each.start)
    return sorted(chosen)


def _readings(text: str) -> dict[str, _ToPlace]:
    """How a search index reads the text, if not as it is: each reading, with the place of each of its characters.

    A hyphen at a line's end may be there for the break only, or belong to the word. Two breaks in a row are read in every
    combination.
    """
    dropped = "" if text.isascii() else "".join(each for each in set(text) if not each.isascii() and not fold(each))
    marks = dropped.replace(_SOFT_HYPHEN, "")
    shown, to_text = _without(text, [each.span() for each in re.finditer(f"[{re.escape(marks)}]+", text)] if marks else [])
    breaks = list(BROKEN_WORD.finditer(shown))
    readings: dict[str, _ToPlace] = {}
    for kept in product((0, 1), repeat=min(2, sum(each[1] in _HYPHENS for each in breaks))):
        hyphens = cycle(kept or (0,))
        spans = [(each.start() + (next(hyphens) if each[1] in _HYPHENS else 0), each.end()) for each in breaks]
        joined, to_shown = _without(shown, spans)
        reading, to_joined = _without(joined, [each.span() for each in re.finditer(_SOFT_HYPHEN, joined)])
        if reading != text:
            readings.setdefault(reading, _after(to_joined, to_shown, to_text))
    return readings


def _without(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, _ToPlace]:
    """The text without these parts, and the place that each remaining character had."""
    stops = [*(start for start, _ in spans), len(text)]
    begins = [0, *(end for _, end in spans)]
    parts = [text[begin:stop] for begin, stop in zip(begins, stops, strict=True)]
    starts = list(accumulate(map(len, parts[:-1]), initial=0))

    def place(at: int) -> int:
        part = bisect_right(starts, at) - 1
        return begins[part] + at - starts[part]

    return "".join(parts), place


def _after(first: _ToPlace, second: _ToPlace, third: _ToPlace) -> _ToPlace:
    return lambda at: third(second(first(at)))


def _in_reading(finder: Finder, text: str, reading: str, place: _ToPlace) -> Iterator[Found]:
    """The entities that a finder finds in a reading, and that have something in them which the reading leaves out."""
    for each in _checked(finder, reading):
        start, end = place(each.start), place(each.end - 1) + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        if end - start > each.end - each.start:
            yield Found(start, end, each.kind, each.value or reading[each.start : each.end])


def _free_runs(taken: bytearray, each: Found) -> list[tuple[int, int]]:
    """The parts of an entity that no chosen entity covers."""
    runs, position = [], each.start
    while (start := taken.find(0, position, each.end)) >= 0:
        end = taken.find(1, start, each.end)
        position = each.end if end < 0 else end
        runs.append((start, position))
    return runs


def _checked(finder: Finder, text: str) -> list[Found]:
    name = getattr(finder, "__qualname__", type(finder).__qualname__)
    problem = ""
    found: list[Found] = []
    try:
        found = [_to_found(each, len(text)) for each in finder(text)]
    except Exception as error:  # its message or its cause may quote the text
        problem = f"the finder {name} failed with {type(error).__name__}"
        if isinstance(error, _NoEntity):
            problem = f"the finder {name} must return (start, end, kind) of entities in the text, got something else"
    if problem:
        raise FinderFailed(problem)
    return found


class _NoEntity(Exception):
    """A finder returned something that is not an entity."""


def _to_found(given: Any, length: int) -> Found:
    parts = tuple(given) if isinstance(given, tuple | list) else ()
    if not 3 <= len(parts) <= 4:
        raise _NoEntity
    found = Found(*parts)
    is_place = type(found.start) is int and type(found.end) is int and 0 <= found.start < found.end <= length
    if not is_place or not isinstance(found.kind, str) or not isinstance(found.value, str | None):
        raise _NoEntity
    return found
