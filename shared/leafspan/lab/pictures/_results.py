"""Draws a result: each document as a strip with the passages on it, then the passages, best first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from htpy import Element, Node, details, div, figcaption, figure, h3, header, li, ol, p, section, small, span, summary

from leafspan.lab.pictures._passage import card
from leafspan.lab.pictures._strip import Block, block_of, leaves_named, strip
from leafspan.lab.pictures._text import Places, name
from leafspan.retrieval import NO_ANSWER
from leafspan.text import count_words, visible
from leafspan.values import Outline, Passage

_MOST_DOCUMENTS = 12  # documents that are drawn as strips
_MOST_CARDS = 50


def results_picture(
    passages: Sequence[Passage],
    question: str | None = None,
    words: Places | None = None,
    heading: str = "",
    below: Callable[[Passage], Node] | None = None,
    why_no_answer: str | None = None,
) -> Element:
    """Draw the passages for a question."""
    documents = drawn_documents(passages)
    return section(".ls-result")[
        header(".ls-question")[
            heading and span(".ls-strategy")[name(heading)],
            not heading and question is not None and h3[name(question)],
            p(".ls-count")[
                counted(passages), why_no_answer and f"{f'; {NO_ANSWER}' if passages else ''}: {visible(why_no_answer)}"
            ],
        ],
        _strips(documents),
        _key(documents),
        len(passages) > 1 and _lists(passages, folded=bool(heading)),
        cards(passages, words, below),
    ]


def _lists(passages: Sequence[Passage], *, folded: bool) -> Node:
    """The lists that the result was fused from, folded where results are side by side and have less room."""
    lists = legs(passages)
    if lists is None or not folded:
        return lists
    return details(".ls-folded")[summary["the lists that it was fused from"], lists]


def cards(passages: Sequence[Passage], words: Places | None = None, below: Callable[[Passage], Node] | None = None) -> Node:
    """Draw the passages one below the other."""
    best = max((each.score for each in passages if math.isfinite(each.score)), default=None)
    more = len(passages) - _MOST_CARDS
    return [
        [card(each, number, best, words, below) for number, each in enumerate(passages[:_MOST_CARDS], start=1)],
        more > 0 and p(".ls-more")[f"and {more:,} more passages"],
    ]


@dataclass(frozen=True, slots=True)
class DrawnDocument:
    """A document of a result."""

    id: str
    title: str | None
    outline: Outline
    blocks: Sequence[Block]  # summaries come first, so that other passages are drawn over them


def drawn_documents(passages: Sequence[Passage]) -> list[DrawnDocument]:
    """The documents of a result that can be drawn, the best passage's document first."""
    by_document: dict[str, list[tuple[int, Passage]]] = {}
    for number, each in enumerate(passages, start=1):
        if each.document_id and each.outline is not None and each.outline.leaves:
            by_document.setdefault(each.document_id, []).append((number, each))
    documents = []
    for id_, numbered in by_document.items():
        first, few = numbered[0][1], len(numbered) == 1
        ordered = sorted(numbered, key=lambda each: -(each[1].summary.layer if each[1].summary else 0))
        blocks = [block_of(each, number, nodes=few) for number, each in ordered]
        assert first.outline is not None
        documents.append(DrawnDocument(id_, first.title, first.outline, blocks))
    return documents


def _strips(documents: Sequence[DrawnDocument]) -> Node:
    more = len(documents) - _MOST_DOCUMENTS
    return [
        [
            div(".ls-document")[caption(each.id, each.title, size_of(each.outline)), strip(each.outline, each.blocks)]
            for each in documents[:_MOST_DOCUMENTS]
        ],
        more > 0 and p(".ls-more")[f"and {more} more documents"],
    ]


def _key(documents: Sequence[DrawnDocument]) -> Node:
    """The legend of the strips."""
    blocks = [block for each in documents for block in each.blocks]
    if not blocks:
        return None
    return p(".ls-key-to")[
        span(".ls-swatch.ls-swatch-block"),
        "passage",
        any(block.hits for block in blocks) and [span(".ls-swatch.ls-swatch-found"), "leaf that was found"],
        any(block.nodes for block in blocks) and [span(".ls-swatch.ls-swatch-node"), "parent"],
    ]


def caption(id_: str, title: str | None, size: str) -> Element:
    """The line above the strip of a document."""
    return div(".ls-caption")[
        span(".ls-title")[name(title or id_)],
        bool(title) and title != id_ and span(".ls-id")[" ", name(id_)],
        span(".ls-size")[" ", size],
    ]


def size_of(outline: Outline) -> str:
    """The length of a document in words."""
    leaves = "1 leaf" if outline.leaves == 1 else f"{outline.leaves:,} leaves"
    return f"{leaves}, {outline.characters:,} characters"


def counted(passages: Sequence[Passage]) -> str:
    """The number of passages, documents and words, in a few words."""
    if not passages:
        return "nothing was found"
    documents = len({each.document_id for each in passages if each.document_id})
    what = "1 passage" if len(passages) == 1 else f"{len(passages)} passages"
    of = "" if not documents else " of 1 document" if documents == 1 else f" of {documents} documents"
    return f"{what}{of}, {sum(count_words(each.text) for each in passages):,} words"


def comparison_picture(
    question: str | None, results: Mapping[str, Sequence[Passage]], words: Places | None = None
) -> Element:
    """Draw the results beside each other if the page is wide enough, otherwise below each other."""
    return section(".ls-comparison")[
        header(".ls-question")[question is not None and h3[name(question)]],
        div(".ls-columns")[[results_picture(each, None, words, heading=strategy) for strategy, each in results.items()]],
    ]


_MOST = 8  # entries of a list


@dataclass(frozen=True, slots=True)
class Entry:
    """A result in a list."""

    rank: int
    number: int
    place: str
    score: float
    share: float


def legs(passages: Sequence[Passage]) -> Node:
    """Draw the lists side by side. Without a passage that was fused from several lists, draw nothing."""
    lists = lists_of(passages)
    if len(lists) < 2:
        return None
    return div(".ls-legs")[
        [
            figure(".ls-leg")[
                figcaption[name(source), query is not None and [" ", small["for ", name(query)]]],
                ol[[_entry(entry) for entry in entries[:_MOST]]],
                small[
                    len(entries) > _MOST and f"and {len(entries) - _MOST} more · ",
                    "rank, passage, leaf, share of the fused score, score",
                ],
            ]
            for (source, query), entries in lists.items()
        ]
    ]


def lists_of(passages: Sequence[Passage]) -> dict[tuple[str, str | None], list[Entry]]:
    """The contributions of each list to the passages, best rank first, by the list's name and its phrasing."""
    lists: dict[tuple[str, str | None], list[Entry]] = {}
    for number, passage in enumerate(passages, start=1):
        of_summary = passage.trace.layer > 0 or bool(passage.trace.kind)
        for fused in passage.trace.fused:
            place = (passage.trace.kind or "summary") if of_summary else leaves_named(fused.first, fused.last)
            for part in fused.contributions:
                share = part.share / fused.score if fused.score else 0.0
                share = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
                entry = Entry(part.rank, number, place, part.score, share)
                lists.setdefault((part.source, fused.query), []).append(entry)
    return {key: sorted(entries, key=lambda entry: (entry.rank, entry.number)) for key, entries in lists.items()}


def _entry(entry: Entry) -> Element:
    return li(value=str(entry.rank))[
        span(".ls-entry")[
            span(".ls-badge")[str(entry.number)],
            span(".ls-of")[f" {entry.place} "],
            span(".ls-bar", title=f"{entry.share:.0%} of the fused score")[span(style=f"width:{entry.share:.0%}")],
            span(".ls-score")[f" {entry.score:.3f}"],
        ],
    ]
