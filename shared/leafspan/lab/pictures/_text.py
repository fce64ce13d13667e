"""Shows texts of documents: escaped, in their own direction of writing, and with invisible characters made visible."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple

from htpy import Element, Node, bdi, body, code, div, head, html, main, mark, meta, strong, style
from htpy import title as title_element
from markupsafe import Markup

from leafspan.checks import GENERATOR
from leafspan.files import is_code
from leafspan.text import visible

# Of Markdown. A fence that nothing closes is one only if it names a language: it may close what begins before the text.
_FENCED = re.compile(
    r"^[ \t]*+(?:(`{3,}+|~{3,}+)[^\n]*\n(?:.*\n)*?[ \t]*+\1[ \t]*+$|(?:`{3,}+|~{3,}+) ?\w[^`\n]*\n(?s:.*))", re.MULTILINE
)

Places = Callable[[str], Sequence[tuple[int, int]]]
"""A function that returns the places to mark in a text, as (start, end), in order and without overlaps."""


class Marked(NamedTuple):
    """A piece of a text."""

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


def code_in(text: str, document_id: str = "") -> list[tuple[int, int]]:
    """The places of code in a text: the whole text if the document is a file of code, or else what fences enclose."""
    if is_code(document_id):
        return [(0, len(text))]
    return [match.span() for match in _FENCED.finditer(text)]


def shown(text: str, start: int, end: int, code_places: Sequence[tuple[int, int]]) -> list[Node]:
    """A part of a text that cannot change the page around it, with its code in letters of one width."""
    parts = [(visible(text[first:last], lines=True), is_code) for first, last, is_code in _runs(start, end, code_places)]
    return [code(".ls-code")[part] if is_code else part for part, is_code in parts]


def marked_text(
    text: str,
    pieces: Sequence[Marked] = (),
    words: Sequence[tuple[int, int]] = (),
    code_places: Sequence[tuple[int, int]] = (),
) -> list[Node]:
    """A text with found pieces marked, and words highlighted."""
    nodes: list[Node] = []
    for start, end, label, is_hit in pieces or [Marked(0, len(text), "", False)]:
        last = start + len(text[start:end].rstrip()) if is_hit else end  # white space is not marked
        inner: list[Node] = []
        for first, stop, is_word in _runs(start, last, words):
            part = shown(text, first, stop, code_places)
            inner.append(strong(".ls-word")[part] if is_word else part)
        nodes += [mark(".ls-hit", title=spoken(label))[inner], text[last:end]] if is_hit else inner
    return nodes


def _runs(start: int, end: int, places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """The parts of a range, in order, and whether each is one of the places."""
    for place in places:
        first, last = max(place[0], start), min(place[1], end)
        if first < last:
            yield from ((start, first, False), (first, last, True))
            start = last
    yield start, end, False


STYLESHEET = (files("leafspan.lab.pictures") / "pictures.css").read_text(encoding="utf-8")
"""The style of all pictures. All of its rules apply only to elements inside one of class ``ls``."""

_NOTHING_ELSE = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def embedded(picture: Element) -> str:
    """The picture and its style as the HTML of an element, for the output of a notebook's cell."""
    return str(Markup(div(".ls")[style[Markup(STYLESHEET)], picture]))


def page(title: str, pictures: Iterable[Node]) -> str:
    """The pictures as a whole HTML page, which needs no other files and forbids browsers to load or run anything."""
    return str(
        Markup(
            html(lang="en")[
                head[
                    meta(charset="utf-8"),
                    meta(name="generator", content=GENERATOR),
                    meta(http_equiv="Content-Security-Policy", content=_NOTHING_ELSE),
                    meta(name="viewport", content="width=device-width, initial-scale=1"),
                    meta(name="color-scheme", content="light dark"),
                    title_element[visible(title)],
                    style[Markup(STYLESHEET)],
                ],
                body(".ls.ls-page")[main[pictures]],
            ]
        )
    )
