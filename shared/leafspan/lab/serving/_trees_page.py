"""Draws the page of trees: one document's tree with its leaves, or all trees without leaves."""

from __future__ import annotations

from collections.abc import Sequence

from htpy import Node, a, button, form, h1, input, label, p, span

from leafspan.lab.pictures import name, tree_picture
from leafspan.lab.serving._asked import MOST_CHARACTERS, Asked
from leafspan.lab.serving._frame import field_value
from leafspan.values import Passage


def trees_page(nodes: Sequence[Passage], asked: Asked, document_id: str) -> Node:
    """Draw trees, which open layer by layer."""
    return [
        h1["Tree of ", name(document_id)] if document_id else h1["Trees"],
        form(".serve-form.serve-small", action="./trees", method="get")[
            label(".serve-question")[
                span["Id of a document, for its tree with the leaves"],
                input(
                    name="id",
                    value=field_value(document_id),
                    maxlength=str(MOST_CHARACTERS),
                    autocomplete="off",
                    dir="auto",
                ),
            ],
            button(type="submit")["Show"],
        ],
        document_id
        and p(".serve-links")[
            a(href=asked.link("document", id=document_id))["the document"], a(href=asked.link("trees"))["all trees"]
        ],
        tree_picture(nodes),
    ]
