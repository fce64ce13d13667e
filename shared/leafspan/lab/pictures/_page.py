"""Prepares pictures for a notebook or as separate pages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from htpy import Element, Node, body, div, head, html, main, meta, style
from htpy import title as title_element
from markupsafe import Markup

from leafspan.checks import GENERATOR
from leafspan.text import visible

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
