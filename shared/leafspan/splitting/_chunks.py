"""Adapts other libraries' splitters, which return chunks instead of cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leafspan.checks import calling, check_text, keep_whole, shown, unusable
from leafspan.errors import InvalidArgument, InvalidDocument
from leafspan.splitting._cuts import Cut


def cuts_at(starts: Sequence[Sequence[int]], text: str) -> list[Cut]:
    """Return a text's cuts, from the places where chunks start.

    Text before the first chunk belongs to the first chunk, and text between two chunks to the first of the two. If two
    chunks overlap, the second one starts at its own start.
    """
    if not text:
        return []
    first = min(starts[0], default=0)
    level_at = {len(text): len(starts) - 1}
    for level, places in enumerate(starts):
        for place in places:
            if place > first:
                level_at[place] = max(level, level_at.get(place, 0))
    return [Cut(end, level) for end, level in sorted(level_at.items()) if end > 0]


@dataclass(frozen=True, slots=True)
class ChunkSplitter:
    """A splitter from a function that cuts a text into chunks, such as ``split_text`` of a LangChain splitter.

    leafspan looks for each chunk in the text, after the previous one. So chunks may overlap, and may lack the white
    space around them.

    Args:
        split: Function from a text to its chunks.
        name: Name that the index stores. An index can only be opened with a splitter of the same name.
        overlap: Most characters that two chunks share, >= 0. Default: 0.

    Raises:
        InvalidArgument: if ``split`` is no function, or another option is out of its range.
        InvalidDocument: at splitting, if a chunk is not a part of the text.
        FunctionFailed: at splitting, if ``split`` fails, or returns anything but texts.
    """

    split: Callable[[str], Sequence[str]]
    name: str
    overlap: int = 0

    def __post_init__(self) -> None:
        if not callable(self.split) or isinstance(self.split, type):
            raise InvalidArgument(f"split must be a function from a text to its chunks, got {shown(self.split)}")
        check_text("name", self.name)
        keep_whole(self, "overlap", 0)

    def __call__(self, text: str) -> list[Cut]:
        """Return the cuts between leaves. Each leaf starts where a chunk starts."""
        starts: list[int] = []
        expected = 0
        for chunk in self._chunks(text):
            # In a repetitive text, only the lengths of chunks show which occurrence is right. Chunks that have lost white
            # space make lengths inexact, so a second search starts directly after the last start.
            start = text.find(chunk, expected)
            if start < 0:
                start = text.find(chunk, starts[-1] + 1 if starts else 0)
            if start < 0:
                raise InvalidDocument(f"{self.name} changed the text: its chunk {chunk[:40]!r} is not in it")
            starts.append(start)
            expected = start + max(1, len(chunk) - self.overlap)
        return cuts_at([starts], text)

    def _chunks(self, text: str) -> list[str]:
        rule = "return a list of texts"
        with calling("the splitter", self.name, text):
            returned = self.split(text)
            if isinstance(returned, str | bytes) or not hasattr(returned, "__iter__"):
                raise unusable("the splitter", self.name, rule, returned, text)
            chunks = list(returned)
        for chunk in chunks:
            if not isinstance(chunk, str):
                raise unusable("the splitter", self.name, rule, chunk, text)
        return chunks

    def describe(self) -> str:
        """Return the text that an index stores for this splitter: its name."""
        return self.name
