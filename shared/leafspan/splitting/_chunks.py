"""Splitters of others, which give chunks rather than cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leafspan.errors import InvalidDocument
from leafspan.splitting._cuts import Cut


def cuts_at(starts: Sequence[Sequence[int]], text: str) -> list[Cut]:
    """Cuts from the places where chunks start, a sequence of places for each level, the leaves' first.

    What lies before the first chunk belongs to it, and what lies between two chunks to the former; where chunks
    overlap, the latter begins at its own start. A place where a node of a level starts is one where a leaf starts.
    """
    if not text:
        return []
    level_at = {len(text): len(starts) - 1}
    for level, places in enumerate(starts):
        for place in places:
            if place > min(starts[0], default=0):
                level_at[place] = max(level, level_at.get(place, 0))
    return [Cut(end, level) for end, level in sorted(level_at.items()) if end > 0]


@dataclass(frozen=True, slots=True)
class ChunkSplitter:
    """A splitter made of a function that cuts a text into a list of chunks, such as a LangChain splitter's ``split_text``.

    Each chunk is looked for in the text after the one before, from ``overlap`` characters before its end on, so chunks may
    overlap and may have lost the white space around them.

    Raises:
        InvalidDocument: at splitting, if a chunk does not stand in the text as it is.
    """

    split: Callable[[str], Sequence[str]]
    name: str
    overlap: int = 0

    def __call__(self, text: str) -> list[Cut]:
        """One level of leaves, each starting where a chunk starts."""
        starts: list[int] = []
        place = 0
        for chunk in self.split(text):
            # Where a text repeats itself, only the lengths tell which occurrence is meant; they may be off by white space.
            found = text.find(chunk, place)
            if found < 0:
                found = text.find(chunk, starts[-1] + 1 if starts else 0)
            if found < 0:
                raise InvalidDocument(f"{self.name} changed the text: its chunk {chunk[:40]!r} does not stand in it")
            starts.append(found)
            place = found + max(1, len(chunk) - self.overlap)
        return cuts_at([starts], text)

    def describe(self) -> str:
        """What is recorded in an index that was made with this splitter."""
        return self.name
