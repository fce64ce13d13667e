"""Draws the list of documents, page by page, optionally only those with a searched text in their id or title."""

from __future__ import annotations

from collections.abc import Sequence

from htpy import Node, a, button, div, form, h1, input, label, nav, p, span, table, tbody, td, th, thead, tr

from leafspan.indexing import DocumentInfo
from leafspan.lab.pictures import name
from leafspan.lab.serving._asked import Asked
from leafspan.lab.serving._frame import field_value

MOST_DOCUMENTS = 50
"""Documents on one page."""


def documents_page(documents: Sequence[DocumentInfo], asked: Asked, find: str, page: int) -> Node:
    """Draw one page of the list."""
    wanted = find.casefold()
    found = [each for each in documents if wanted in each.id.casefold() or wanted in (each.title or "").casefold()]
    pages = max(-(-len(found) // MOST_DOCUMENTS), 1)
    page = min(page, pages)
    shown = found[(page - 1) * MOST_DOCUMENTS : page * MOST_DOCUMENTS]
    return [
        h1["Documents"],
        form(".serve-form.serve-small", action="./documents", method="get")[
            label(".serve-question")[
                span["Id or title"],
                input(name="find", type="search", value=field_value(find), autocomplete="off", dir="auto"),
            ],
            button(type="submit")["Find"],
        ],
        p(".ls-count")[_counted(len(found), len(documents))],
        bool(shown)
        and div(".ls-scroll")[
            table(".ls-table")[
                thead[tr[th["document"], th["title"], th(".ls-right")["leaves"], th(".ls-right")["words"]]],
                tbody[
                    [
                        tr[
                            td[a(href=asked.link("document", id=each.id))[name(each.id)]],
                            td[name(each.title or "")],
                            td(".ls-right")[f"{each.leaves:,}"],
                            td(".ls-right")[f"{each.words:,}"],
                        ]
                        for each in shown
                    ]
                ],
            ]
        ],
        pages > 1 and _pager(asked, find, page, pages),
    ]


def _counted(found: int, total: int) -> str:
    what = "1 document" if total == 1 else f"{total:,} documents"
    return what if found == total else f"{found:,} of {what}"


def _pager(asked: Asked, find: str, page: int, pages: int) -> Node:
    def to(number: int, said: str) -> Node:
        if not 1 <= number <= pages:
            return span[said]
        return a(href=asked.link("documents", find=find, page=number))[said]

    return nav(".serve-pager", aria_label="pages of the list")[
        to(page - 1, "previous"), span[f"page {page:,} of {pages:,}"], to(page + 1, "next")
    ]
