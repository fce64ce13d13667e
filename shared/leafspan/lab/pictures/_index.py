"""Draws an index: how much it holds, how it was made, and its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from htpy import Element, div, p, section, span, table, tbody, td, th, thead, tr

from leafspan.indexing import DocumentInfo, Stats, summaries_of
from leafspan.lab.pictures._text import name

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
