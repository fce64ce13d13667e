"""Splitters: functions from a text to its cuts, and other libraries' splitters, which return chunks instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple, Protocol

from leafspan.checks import calling, check_text, keep_whole, shown, unusable
from leafspan.errors import InvalidArgument, InvalidDocument

MAX_LEVEL = 100  # the highest level that a user's own splitter may return: each leaf is stored with all nodes above it


class Cut(NamedTuple):
    """The end of a leaf, and of the nodes above it that end at the same place.

    Args:
        end: The character before which the leaf ends.
        level: The highest level that ends here, from 0 to 100. Level 0 is the leaf, 1 its parent. Default: 0.
    """

    end: int
    level: int = 0


class Splitter(Protocol):
    """A function from a text to its cuts: the ends of leaves and of the nodes above them.

    An index stores what the function's ``describe`` method returns, or, without this method, the function's name. An index
    can only be opened with a splitter of the same description.
    """

    def __call__(self, text: str, /) -> Sequence[Cut]:
        """Return the cuts in ascending order, the last one at the end of the text. An empty text has no cuts."""


def check_cuts(cuts: Sequence[Cut], text: str) -> None:
    """Check that the leaves between the cuts partition the text."""
    before = 0
    for cut in cuts:
        if cut.end <= before:
            raise InvalidDocument(f"cuts must ascend and be within the text, got {shown(cut.end)} after {shown(before)}")
        if not 0 <= cut.level <= MAX_LEVEL:
            raise InvalidDocument(
                f"the level of a cut must be from 0 to {MAX_LEVEL}, got {shown(cut.level)} at {shown(cut.end)}"
            )
        before = cut.end
    if before != len(text):
        raise InvalidDocument(f"the last cut must be at the end of the text, {len(text)}, got {shown(before)}")


def to_cuts(splitter: object, returned: Any) -> list[Cut]:
    """Return the cuts that a user's own splitter returned, with plain ints instead of numpy's."""
    rule = "return a list of Cuts of whole numbers"
    if not isinstance(returned, Sequence) or isinstance(returned, str | bytes):
        raise unusable("the splitter", splitter, rule, returned)
    cuts = []
    for each in returned:
        try:
            cut = None if any(isinstance(number, bool) for number in each) else Cut(*map(index, each))
        except (TypeError, ValueError):
            cut = None
        if cut is None or isinstance(each, str | bytes):
            raise unusable("the splitter", splitter, rule, each)
        cuts.append(cut)
    return cuts


def describe_splitter(splitter: Splitter) -> str:
    """Return the text that an index stores for a splitter. Splitters with the same text are treated as equal."""
    describe = getattr(splitter, "describe", None)
    if callable(describe):
        return str(describe())
    name = getattr(splitter, "__qualname__", None) or type(splitter).__qualname__
    return f"{getattr(splitter, '__module__', None) or type(splitter).__module__}.{name}"


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
