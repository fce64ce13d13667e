"""Draws the page that says why strategies find a document, or what keeps it out."""

from __future__ import annotations

from collections.abc import Sequence

from htpy import Node, a, div, h1, p, pre, section, span

from leafspan.lab.pictures import name
from leafspan.lab.serving._asked import Asked
from leafspan.lab.serving._frame import error_box
from leafspan.lab.serving._reasons import Reason
from leafspan.text import visible

_MOST_TEXT = 20_000  # of one strategy's reasons


def why_page(reasons: Sequence[Reason], asked: Asked, document_id: str) -> Node:
    """Draw each strategy's reasons, side by side."""
    return [
        h1["Why, and why not: ", name(document_id)],
        p(".serve-links")[
            a(href=asked.link("document", id=document_id))["the document"], a(href=asked.link(""))["back to the question"]
        ],
        div(".ls-columns")[
            [
                section(".ls-result")[
                    span(".ls-strategy")[name(each.strategy)],
                    error_box(each.said)
                    if each.failed
                    else pre(".serve-config.serve-said", dir="auto")[visible(each.said[:_MOST_TEXT], lines=True)],
                ]
                for each in reasons
            ]
        ],
    ]
