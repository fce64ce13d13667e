"""The frame of all pages: the style, the index's name, and links to the other pages."""

from __future__ import annotations

from importlib.resources import files

from htpy import Element, Node, a, body, div, head, header, html, main, meta, nav, p, span, style
from htpy import title as title_element
from markupsafe import Markup

from leafspan.lab.pictures import STYLESHEET, name
from leafspan.lab.serving._asked import Asked
from leafspan.text import visible

STYLE = STYLESHEET + (files("leafspan.lab.serving") / "serving.css").read_text(encoding="utf-8")
"""The style of the pages: the pictures' style, with forms and tables."""

_PAGES = {"": "Ask", "documents": "Documents", "trees": "Trees", "index": "Index"}


def framed(title: str, index: str, asked: Asked, current: str, *content: Node) -> Element:
    """Draw a whole page."""
    return html(lang="en")[
        head[
            meta(charset="utf-8"),
            meta(name="viewport", content="width=device-width, initial-scale=1"),
            meta(name="color-scheme", content="light dark"),
            title_element[visible(f"{title} - leafspan")],
            style[Markup(STYLE)],
        ],
        body(".ls.ls-page")[
            header(".serve-top")[
                div(".serve-bar")[
                    nav(aria_label="pages")[
                        [
                            a(href=asked.link(page), aria_current="page" if page == current else None)[label]
                            for page, label in _PAGES.items()
                        ]
                    ],
                    span(".serve-index")[name(index)],
                ]
            ],
            main[content],
        ],
    ]


def field_value(text: str) -> str:
    """The user's input as a field's value, without characters that could hide or reorder text."""
    return visible(text, lines=True)


def error_box(message: str) -> Element:
    """Draw an error, which says what to do."""
    return p(".serve-error", role="alert")[name(message)]
