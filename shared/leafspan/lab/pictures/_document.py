"""Draws a document: a strip with its headings and leaves, its metadata, and its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from htpy import Element, Node, details, div, p, section, span, summary, table, tbody, td, th, thead, tr

from leafspan.indexing import DocumentInfo, Stats, summaries_of
from leafspan.lab.pictures._results import caption, size_of
from leafspan.lab.pictures._strip import fits, strip
from leafspan.lab.pictures._text import code_in, name, shown
from leafspan.values import Document

_MOST_TEXT = 20_000  # characters that are drawn
_OPEN = 1_500  # characters of a text that is unfolded from the start
_MOST_KEYS = 20
_MOST_VALUE = 120


def document_picture(document: Document, body: Node = None) -> Element:
    """Draw a document. Its leaves and headings are drawn if it comes from an index."""
    outline = document.outline
    fitting = outline if outline is not None and fits(outline, document.text) else None
    size = size_of(fitting) if fitting is not None else f"{len(document.text):,} characters"
    ends = fitting.ends if fitting is not None else [chunk.end for chunk in document.chunks]
    return section(".ls-result")[
        div(".ls-document")[caption(document.id, document.title, size), fitting is not None and strip(fitting, [])],
        _metadata(document.metadata),
        body,
        body is None
        and bool(document.text)
        and details(".ls-whole", open=len(document.text) <= _OPEN)[
            summary["text", bool(ends) and f", in {len(ends)} {'leaves' if fitting is not None else 'chunks'}"],
            div(".ls-text", dir="auto")[_pieces(document, ends)],
        ],
    ]


def _metadata(metadata: Mapping[str, object]) -> Node:
    if not metadata:
        return None
    more = len(metadata) - _MOST_KEYS
    return p(".ls-metadata")[
        [
            [span(".ls-key")[name(str(key))], " ", name(_value(value)), "  "]
            for key, value in list(metadata.items())[:_MOST_KEYS]
        ],
        more > 0 and f"and {more} more",
    ]


def _value(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _MOST_VALUE else f"{text[: _MOST_VALUE - 1]}…"


def _pieces(document: Document, ends: Sequence[int]) -> Node:
    """The drawn part of the text, with alternating marks for its pieces."""
    drawn = document.text[:_MOST_TEXT]
    code = code_in(drawn, document.id)
    inner = [end for end in ends if end < len(drawn)]
    pieces = [shown(drawn, start, end, code) for start, end in zip([0, *inner], [*inner, len(drawn)], strict=True)]
    more = len(document.text) - len(drawn)
    return [
        [span(".ls-piece", title=f"{number}")[each] for number, each in enumerate(pieces)] if ends else pieces,
        more > 0 and p(".ls-more")[f"and {more:,} more characters"],
    ]


_MOST = 50  # documents that are listed


def index_picture(title: str, facts: Mapping[str, str], documents: Sequence[DocumentInfo] | None) -> Element:
    """Draw an index or a view of one."""
    if documents is None:
        return section(".ls-result")[div(".ls-caption")[span(".ls-title")[name(title)]], _facts(facts)]
    leaves = sum(each.leaves for each in documents)
    longest = max((each.leaves for each in documents), default=0)
    more = len(documents) - _MOST
    return section(".ls-result")[
        div(".ls-caption")[
            span(".ls-title")[name(title)],
            span(".ls-size")[
                f"{len(documents):,} {'document' if len(documents) == 1 else 'documents'}, {leaves:,} leaves, "
                f"{sum(each.words for each in documents):,} words"
            ],
        ],
        _facts(facts),
        bool(documents)
        and div(".ls-scroll")[
            table(".ls-table")[
                thead[tr[th["document"], th["title"], th(".ls-right")["leaves"], th(".ls-right")["words"]]],
                tbody[[_row(each, longest) for each in documents[:_MOST]]],
            ]
        ],
        more > 0 and p(".ls-more")[f"and {more:,} more documents"],
    ]


def facts_of(stats: Stats) -> dict[str, str]:
    """How an index was made, in a few words."""
    facts = {"splitter": stats.splitter, "analyzer": stats.analyzer}
    if stats.embedder is not None:
        facts = {"embedder": f"{stats.embedder}, {stats.dimension} dimensions", **facts}
    if stats.trees:
        facts["trees"] = f"{stats.trees:,}, with {summaries_of(stats)}"
    return facts


def _facts(facts: Mapping[str, str]) -> Element:
    return p(".ls-metadata")[[[span(".ls-key")[key], " ", name(value), "  "] for key, value in facts.items()]]


def _row(document: DocumentInfo, longest: int) -> Element:
    share = 100 * document.leaves / longest if longest else 0
    return tr[
        td[name(document.id)],
        td[name(document.title or "")],
        td(".ls-right")[
            span(".ls-bar", aria_hidden="true")[span(style=f"width:{share:.0f}%")], span[f"{document.leaves:,}"]
        ],
        td(".ls-right")[f"{document.words:,}"],
    ]
