"""Shows texts of documents: escaped, in their own direction of writing, and with invisible characters made visible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from htpy import Element, Node, bdi, mark, strong

from leafspan.text import visible

Places = Callable[[str], Sequence[tuple[int, int]]]
"""A function that returns the places to mark in a text, as (start, end), in order and without overlaps."""


class Marked(NamedTuple):
    """A piece of a text.

    Attributes:
        start: Its first character.
        end: The character after its last one.
        name: What it is, such as ``"leaf 12"``.
        is_hit: Whether it was found.
    """

    start: int
    end: int
    name: str
    is_hit: bool


def name(text: str) -> Element:
    """A name, title or message that cannot change the direction of the text around it."""
    return bdi(dir="auto")[visible(text)]


def spoken(text: str) -> str:
    """The same for an attribute, such as a tooltip, which can hold only text."""
    return visible(text)


def marked_text(text: str, pieces: Sequence[Marked] = (), words: Sequence[tuple[int, int]] = ()) -> list[Node]:
    """A text with found pieces marked, and words highlighted."""
    nodes: list[Node] = []
    for start, end, label, is_hit in pieces or [Marked(0, len(text), "", False)]:
        last = start + len(text[start:end].rstrip()) if is_hit else end  # white space is not marked
        inner = _with_words(text, start, last, words)
        nodes += [mark(".ls-hit", title=spoken(label))[inner], text[last:end]] if is_hit else inner
    return nodes


def _with_words(text: str, start: int, end: int, words: Iterable[tuple[int, int]]) -> list[Node]:
    nodes: list[Node] = []
    for word in words:
        first, last = max(word[0], start), min(word[1], end)
        if first < last:
            nodes += [visible(text[start:first], lines=True), strong(".ls-word")[visible(text[first:last], lines=True)]]
            start = last
    return [*nodes, visible(text[start:end], lines=True)]
