"""The places of pseudonyms in a text and their originals, with exact positions both ways."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import NamedTuple

from leafspan.private.pseudonyms._pseudonyms import PSEUDONYM


class Place(NamedTuple):
    """A pseudonym in a masked text.

    Attributes:
        start: Its first character in the masked text.
        pseudonym: The pseudonym.
        original: The text that it replaced, or the whole number.
    """

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
    places: tuple[Place, ...]


class Restoring:
    """Restores the parts of a masked text that a reader may see, and converts positions both ways.

    A position within a pseudonym maps to the end of its original. So every position has exactly one counterpart,
    and pieces that partition the masked text partition the restored text, wherever the cuts are.
    """

    def __init__(self, places: Iterable[Place]) -> None:
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
