"""Splitters: functions from a text to its cuts."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple, Protocol

from leafspan.checks import shown, unusable
from leafspan.errors import InvalidDocument

MAX_LEVEL = 100
"""The highest level that a user's own splitter may return: each leaf is stored with all nodes above it."""


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
        ...


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
