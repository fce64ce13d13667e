"""The frame of all pages: the style, the index's name, and links to the other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

from htpy import (
    Element,
    Node,
    a,
    body,
    button,
    details,
    div,
    form,
    h1,
    h2,
    head,
    header,
    html,
    input,
    label,
    main,
    meta,
    nav,
    p,
    pre,
    span,
    style,
    summary,
    table,
    tbody,
    td,
    th,
    thead,
    tr,
)
from htpy import title as title_element
from markupsafe import Markup

from leafspan.config import config_text
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.filters import F
from leafspan.indexing import DocumentInfo, Stats, value_counts
from leafspan.lab.pictures import STYLESHEET, facts_of, name, tree_picture
from leafspan.lab.serving._query import MOST_CHARACTERS, PageQuery
from leafspan.text import visible
from leafspan.values import Passage

STYLE = STYLESHEET + (files("leafspan.lab.serving") / "serving.css").read_text(encoding="utf-8")
"""The style of the pages: the pictures' style, with forms and tables."""

_PAGES = {"": "Ask", "documents": "Documents", "trees": "Trees", "index": "Index"}


def framed(title: str, index: str, query: PageQuery, current: str, *content: Node) -> Element:
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
                            a(href=query.link(page), aria_current="page" if page == current else None)[label]
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


MOST_TEXT = 20_000
"""Largest number of a document's characters on one page."""


def parts_of(length: int, ends: Sequence[int], most: int = MOST_TEXT) -> list[tuple[int, int]]:
    """The parts of a text, as (start, end). They end where leaves end. Only a leaf that is longer than a part is cut."""
    parts = []
    start = 0
    last = 0  # the end of the last leaf that fits into the part
    for end in [*ends, length]:
        if end > length:
            continue
        if end - start > most and last > start:
            parts.append((start, last))
            start = last
        while end - start > most:
            parts.append((start, start + most))
            start += most
        last = end
    return [*parts, (start, length)] if start < length or not parts else parts


MOST_KEYS = 20
"""Metadata keys on the page of the index."""

MOST_VALUES = 8
"""Values of each."""

_LONGEST_VALUE = 100  # characters


def index_page(
    title: str, stats: Stats, documents: Sequence[DocumentInfo], configs: Mapping[str, Config], query: PageQuery
) -> Node:
    """Draw the page of the index."""
    keys = value_counts(documents, None)[:MOST_KEYS]
    numbers = {key: f"{getattr(stats, key):,}" for key in ("documents", "leaves", "words", "characters")}
    return [
        h1[name(title)],
        table(".ls-table.serve-facts")[
            tbody[[tr[th(scope="row")[key], td[name(value)]] for key, value in {**numbers, **facts_of(stats)}.items()]]
        ],
        bool(keys) and [h2["Metadata"], p(".ls-count")["The most frequent values. Each one opens the form with a filter."]],
        bool(keys) and table(".ls-table.serve-facts")[tbody[[_values(documents, key, query) for key, _ in keys]]],
        h2["Strategies"],
        p(".ls-count")["What each name means, as a configuration file writes it."],
        [
            details(".serve-folded")[summary[name(each)], pre(".serve-config")[_written(config)]]
            for each, config in configs.items()
        ],
    ]


def _values(documents: Sequence[DocumentInfo], key: str, query: PageQuery) -> Node:
    """A key's values as links to the form with filters."""
    several = any(isinstance(each.metadata.get(key), list) for each in documents)

    def link(value: object) -> str:
        where = F(key).contains(value) if several else F(key) == value
        return replace(query, where=repr(where)).link("")

    counts = [each for each in value_counts(documents, key) if len(str(each[0])) <= _LONGEST_VALUE][:MOST_VALUES]
    values: Node = [[a(href=link(value))[name(str(value))], f" {count:,} "] for value, count in counts]
    return tr[th(scope="row")[name(key)], td[values]]


def _written(config: Config) -> str:
    try:
        return visible(config_text(config.to_dict(full=True)), lines=True)
    except InvalidArgument:  # it has objects that no file can hold
        return visible(repr(config.strategy), lines=True)


def trees_page(nodes: Sequence[Passage], query: PageQuery, document_id: str) -> Node:
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
            a(href=query.link("document", id=document_id))["the document"], a(href=query.link("trees"))["all trees"]
        ],
        tree_picture(nodes),
    ]


MOST_DOCUMENTS = 50
"""Documents on one page."""


def documents_page(documents: Sequence[DocumentInfo], query: PageQuery, find: str, page: int) -> Node:
    """Draw one page of the list."""
    wanted = find.casefold()
    matching = [each for each in documents if wanted in each.id.casefold() or wanted in (each.title or "").casefold()]
    pages = max(-(-len(matching) // MOST_DOCUMENTS), 1)
    page = min(page, pages)
    shown = matching[(page - 1) * MOST_DOCUMENTS : page * MOST_DOCUMENTS]
    return [
        h1["Documents"],
        form(".serve-form.serve-small", action="./documents", method="get")[
            label(".serve-question")[
                span["Id or title"],
                input(name="find", type="search", value=field_value(find), autocomplete="off", dir="auto"),
            ],
            button(type="submit")["Find"],
        ],
        p(".ls-count")[_counted(len(matching), len(documents))],
        bool(shown)
        and div(".ls-scroll")[
            table(".ls-table")[
                thead[tr[th["document"], th["title"], th(".ls-right")["leaves"], th(".ls-right")["words"]]],
                tbody[
                    [
                        tr[
                            td[a(href=query.link("document", id=each.id))[name(each.id)]],
                            td[name(each.title or "")],
                            td(".ls-right")[f"{each.leaves:,}"],
                            td(".ls-right")[f"{each.words:,}"],
                        ]
                        for each in shown
                    ]
                ],
            ]
        ],
        pages > 1 and _pager(query, find, page, pages),
    ]


def _counted(count: int, total: int) -> str:
    what = "1 document" if total == 1 else f"{total:,} documents"
    return what if count == total else f"{count:,} of {what}"


def _pager(query: PageQuery, find: str, page: int, pages: int) -> Node:
    def to(number: int, said: str) -> Node:
        if not 1 <= number <= pages:
            return span[said]
        return a(href=query.link("documents", find=find, page=number))[said]

    return nav(".serve-pager", aria_label="pages of the list")[
        to(page - 1, "previous"), span[f"page {page:,} of {pages:,}"], to(page + 1, "next")
    ]
