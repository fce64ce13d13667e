"""The entities that finders return, and the choice between overlapping ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
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


def _readings(text: str) -> dict[str, list[int]]:
    """How a search index reads the text: each reading, with its characters' places in the text.

    A hyphen at a line's end may be there for the break only, or belong to the word. Two breaks in a row are read in every
    combination.
    """
    dropped = set() if text.isascii() else {each for each in set(text) if not each.isascii() and not fold(each)}
    shown = [place for place, letter in enumerate(text) if letter not in dropped or letter == _SOFT_HYPHEN]
    breaks = list(BROKEN_WORD.finditer("".join([text[place] for place in shown]) if dropped else text))
    readings: dict[str, list[int]] = {}
    for kept in product((0, 1), repeat=min(2, len(breaks))) if dropped or breaks else ():
        places, done = list[int](), 0
        for number, each in enumerate(breaks):
            sign = shown[each.start(1) : each.end(1)] if kept[number % len(kept)] else []
            places += shown[done : each.start()] + sign
            done = each.end()
        places = [place for place in places + shown[done:] if text[place] not in dropped]
        readings.setdefault("".join([text[place] for place in places]), places)
    return readings


def _in_reading(finder: Finder, text: str, reading: str, places: Sequence[int]) -> Iterator[Found]:
    """The entities that a finder finds in a reading, and that have something in them which the reading leaves out."""
    for each in _checked(finder, reading):
        start, end = places[each.start], places[each.end - 1] + 1
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
