"""The entities that finders return, and the choice between overlapping ones."""

from __future__ import annotations

import base64
import hmac
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate, cycle, product
from typing import Any, NamedTuple, TypeAlias

from leafspan.errors import FinderFailed
from leafspan.text import BROKEN_WORD, WITHOUT_SPACES, fold

PSEUDONYM = re.compile(r"(?<![A-Za-z0-9])([A-Z][A-Z1-9]{0,31})0[A-Z2-7]{16}0(?![A-Za-z0-9])")
"""What a pseudonym looks like: its kind, 0, 80 bits in base 32, 0.

It is one word for every tokenizer and splitter, and ends with a digit, so that no stemmer cuts anything off.
"""

SEPARATORS = re.compile(r"[\s_\-\u2012-\u2015\u05be\u2800\u30fb]+")
"""Separators of a name's words in a folded text: white space, ``_``, hyphens, dashes, and the dot of Japanese names."""

_BYTES = 10
_NO_KIND = re.compile(r"[^A-Z1-9]")
_PUNCTUATION = re.compile(r"[^\w]|_")
# Writers put a blank into Japanese and Korean names, or leave it out.
_OPTIONAL_BLANK = re.compile(rf"(?<=[{WITHOUT_SPACES}]){SEPARATORS.pattern}(?=[{WITHOUT_SPACES}])")

_NUMBERS = frozenset(
    {
        "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "US_SSN", "US_ITIN", "UK_NHS", "UK_NINO", "ES_NIF", "ES_NIE",
        "IT_FISCAL_CODE", "FI_PERSONAL_IDENTITY_CODE", "PL_PESEL", "SE_PERSONNUMMER", "IN_PAN", "IN_AADHAAR", "KR_RRN",
        "SG_NRIC_FIN", "MEDICAL_LICENSE", "MAC_ADDRESS",
    }
)  # fmt: skip
"""Kinds that are often written with or without spaces, dashes, dots or brackets."""


def pseudonym(key: bytes, kind: str, value: str) -> str:
    """Make the pseudonym of an entity: its kind, and an HMAC-SHA256 of kind and value, which needs the key.

    It keeps 80 bits: among a million entities, two share a pseudonym with a probability of 4 in 10 trillions.
    """
    digest = hmac.digest(key, f"pseudonym\0{kind}\0{normal_value(kind, value)}".encode(errors="surrogatepass"), sha256)
    return f"{shown_kind(kind)}0{base64.b32encode(digest[:_BYTES]).decode()}0"


def normal_value(kind: str, text: str) -> str:
    """Reduce the spellings of an entity to one, so that all of them get the same pseudonym."""
    plain = fold(text)
    if kind in _NUMBERS:
        return _PUNCTUATION.sub("", plain) or plain or text
    return SEPARATORS.sub(" ", _OPTIONAL_BLANK.sub("", plain)).strip() or plain or text


def shown_kind(kind: str) -> str:
    """The kind as pseudonyms write it: ``EMAILADDRESS`` for ``EMAIL_ADDRESS``."""
    plain = _NO_KIND.sub("", kind.upper()).lstrip("123456789")
    return plain[:32] or "ENTITY"


class Mention(NamedTuple):
    """A word in a text that looks like a pseudonym."""

    start: int
    end: int
    word: str
    kind: str


def pseudonyms_in(text: str) -> Iterator[Mention]:
    """The words in a text that look like pseudonyms, in order."""
    for match in PSEUDONYM.finditer(text):
        yield Mention(match.start(), match.end(), match[0], match[1])


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
    """
    readings = _readings(text)
    entities = [each for finder in finders for each in _checked(finder, text)]
    entities += [each for finder in finders for reading in readings.items() for each in _in_reading(finder, text, *reading)]
    chosen: list[Found] = []
    if not entities:
        return []
    taken = bytearray(len(text))
    for start, end in kept:
        taken[start:end] = b"\1" * (end - start)
    for each in sorted(entities, key=lambda each: (each.start - each.end, each.start)):
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
    entities: list[Found] = []
    try:
        entities = [_to_entity(each, len(text)) for each in finder(text)]
    except Exception as error:  # its message or its cause may quote the text
        problem = f"the finder {name} failed with {type(error).__name__}"
        if isinstance(error, _NoEntity):
            problem = f"the finder {name} must return (start, end, kind) of entities in the text, got something else"
    if problem:
        raise FinderFailed(problem)
    return entities


class _NoEntity(Exception):
    """A finder returned something that is not an entity."""


def _to_entity(result: Any, length: int) -> Found:
    parts = tuple(result) if isinstance(result, tuple | list) else ()
    if not 3 <= len(parts) <= 4:
        raise _NoEntity
    entity = Found(*parts)
    is_place = type(entity.start) is int and type(entity.end) is int and 0 <= entity.start < entity.end <= length
    if not is_place or not isinstance(entity.kind, str) or not isinstance(entity.value, str | None):
        raise _NoEntity
    return entity


class MaskedPlace(NamedTuple):
    """A pseudonym in a masked text."""

    start: int
    pseudonym: str
    original: str | int

    @property
    def end(self) -> int:
        """The position after its last character, in the masked text."""
        return self.start + len(self.pseudonym)

    @property
    def kind(self) -> str:
        """Its kind, as the pseudonym writes it."""
        match = PSEUDONYM.fullmatch(self.pseudonym)
        return match[1] if match else ""


class Masked(NamedTuple):
    """A text in which pseudonyms replace entities, with the places in order."""

    text: str
    places: tuple[MaskedPlace, ...]


class Restoring:
    """Restores the parts of a masked text that a reader may see, and converts positions both ways.

    A position within a pseudonym maps to the end of its original. So every position has exactly one counterpart,
    and pieces that partition the masked text partition the restored text, wherever the cuts are.
    """

    def __init__(self, places: Iterable[MaskedPlace]) -> None:
        self._places = list(places)
        self._starts = [each.start for each in self._places]
        self._shifts = [0]  # how much longer the restored text is, before each place and at the end
        for each in self._places:
            self._shifts.append(self._shifts[-1] + len(str(each.original)) - len(each.pseudonym))
        self._ends = [each.end + shift for each, shift in zip(self._places, self._shifts[1:], strict=True)]  # restored
        self._totals: dict[Callable[[str], int], list[int]] = {}  # each count before each place and at the end

    @property
    def growth(self) -> int:
        """How many characters longer the whole restored text is."""
        return self._shifts[-1]

    def masked_length(self, length: int) -> int:
        """The masked text's length, from the restored text's length."""
        return length - self.growth

    def outward(self, position: int) -> int:
        """Convert a position in the masked text to one in the restored text."""
        before = bisect_left(self._starts, position)
        if before and position < self._places[before - 1].end:
            position = self._places[before - 1].end
        return position + self._shifts[before]

    def inward(self, position: int) -> int:
        """Convert a position in the restored text to one in the masked text; within an original, to its start."""
        before = bisect_right(self._ends, position)
        if before < len(self._places):
            start = self._places[before].start
            if start + self._shifts[before] < position:
                return start
        return position - self._shifts[before]

    def text(self, piece: str, start: int = 0) -> str:
        """A piece of the masked text restored: the text from ``outward(start)`` to ``outward(start + len(piece))``."""
        end = start + len(piece)
        parts, position = [], start
        for each in self._places[max(0, bisect_left(self._starts, start) - 1) : bisect_left(self._starts, end)]:
            if each.start >= start:
                parts += [piece[position - start : each.start - start], str(each.original)]
            position = max(position, each.end)
        return "".join([*parts, piece[position - start :]])

    def count(self, count: Callable[[str], int], end: int) -> int:
        """The sum of a count, such as of line ends, over the originals of the pseudonyms that start before a position."""
        if count not in self._totals:
            self._totals[count] = list(accumulate((count(str(each.original)) for each in self._places), initial=0))
        return self._totals[count][bisect_left(self._starts, end)]
