"""What a splitter is: a function from a text to its cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from leafspan.errors import InvalidDocument


class Cut(NamedTuple):
    """A leaf ends before character ``end``; so do the nodes above it, up to ``level`` (0: only the leaf ends here)."""

    end: int
    level: int = 0


class Splitter(Protocol):
    """A function from a text to its cuts in ascending order, the last at the text's end; none for an empty text.

    A ``describe`` method, where it has one, gives the name under which an index remembers it.
    """

    def __call__(self, text: str, /) -> Sequence[Cut]:
        """The cuts."""
        ...


def check_cuts(cuts: Sequence[Cut], text: str) -> None:
    """See that the leaves between the cuts partition the text.

    Raises:
        InvalidDocument: if an end is not after the one before it, a level is negative, or the last end is not the text's.
    """
    before = 0
    for cut in cuts:
        if cut.end <= before:
            raise InvalidDocument(f"cuts must ascend and be within the text, got {cut.end} after {before}")
        if cut.level < 0:
            raise InvalidDocument(f"the level of a cut must be >= 0, got {cut.level} at {cut.end}")
        before = cut.end
    if before != len(text):
        raise InvalidDocument(f"the last cut must be at the end of the text, {len(text)}, got {before}")


def describe_splitter(splitter: Splitter) -> str:
    """How a splitter is recorded in an index: two splitters of one description are taken to cut alike."""
    describe = getattr(splitter, "describe", None)
    if callable(describe):
        return str(describe())
    name = getattr(splitter, "__qualname__", None) or type(splitter).__qualname__
    return f"{getattr(splitter, '__module__', None) or type(splitter).__module__}.{name}"
