"""Draws the page of a document: its outline, its found passages and why, and its text with marks, in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from htpy import Element, Node, a, aside, details, div, h2, li, mark, nav, p, section, span, summary, ul

from leafspan.lab.pictures import code_in, document_picture, name, results_picture, shown
from leafspan.lab.serving._pages import error_box, parts_of
from leafspan.lab.serving._query import Answer, PageQuery, labels_of
from leafspan.text import visible
from leafspan.values import Document, Passage

_MOST_HEADINGS = 200
_MOST_STEPS = 40  # shown sentences of a passage


@dataclass(frozen=True, slots=True)
class Highlight:
    """A passage in the text of its document."""

    start: int
    end: int
    label: str
    strategy: str
    passage: Passage


def document_page(document: Document, query: PageQuery, answers: Sequence[Answer], at: int) -> Node:
    """Draw a document, as far as it fits on one page."""
    ends = document.outline.ends if document.outline is not None else ()
    parts = parts_of(len(document.text), ends)
    marks = highlights(document, answers)
    number = next((number for number, (_, end) in enumerate(parts) if at < end), len(parts) - 1)
    return [
        document_picture(
            document,
            [
                p(".serve-links")[
                    query.question is not None and a(href=query.link(""))["back to the question"],
                    query.question is not None and a(href=query.link("why", id=document.id))["why, and why not"],
                    a(href=query.link("trees", id=document.id))["its tree"],
                ],
                _found_passages(answers, document.id),
                _headings(document, query),
            ],
        ),
        _pager(document, query, parts, number),
        div(".serve-reading")[
            div(".serve-text")[div(".ls-text", dir="auto")[marked_part(document, marks, *parts[number])]],
            bool(marks) and aside(".serve-notes")[[_note(each, document, query) for each in marks]],
        ],
        len(parts) > 1 and _pager(document, query, parts, number),
    ]


def highlights(document: Document, answers: Sequence[Answer]) -> list[Highlight]:
    """The passages in the text, in its order, without summaries and without passages of a replaced version."""
    labels = labels_of(answers)
    all_highlights = [
        Highlight(passage.start, passage.end, labels[answer.strategy][passage.id], answer.strategy, passage)
        for answer in answers
        for passage in answer.of_document(document.id).passages
        if passage.start is not None and passage.end is not None and _stands_in(passage, document.text)
    ]
    return sorted(all_highlights, key=lambda each: (each.start, each.label))


def _stands_in(passage: Passage, text: str) -> bool:
    return passage.summary is None and bool(passage.text) and text[passage.start : passage.end] == passage.text


def marked_part(document: Document, marks: Sequence[Highlight], start: int, end: int) -> list[Node]:
    """A part of the text with its passages marked. Text that several strategies found is marked more strongly."""
    inside = [each for each in marks if each.start < end and start < each.end]
    anchors = _anchors(document)
    cuts = {max(each.start, start) for each in inside} | {min(each.end, end) for each in inside}
    cuts |= {place for place in anchors if start <= place < end} | {start, end}
    code = [each for each in code_in(document.text, document.id) if each[0] < end and start < each[1]]
    nodes: list[Node] = []
    ordered = sorted(cuts)
    for first, last in pairwise(ordered):
        covering = [each for each in inside if each.start <= first and last <= each.end]
        begun = [each for each in covering if max(each.start, start) == first]
        nodes += [
            first in anchors and span(id=f"leaf-{anchors[first]}"),
            [span(".ls-badge", id=each.label, title=visible(each.strategy))[each.label] for each in begun],
            _piece(shown(document.text, first, last, code), covering),
        ]
    return nodes


def _piece(text: Node, covering: Sequence[Highlight]) -> Node:
    if not covering:
        return text
    said = ", ".join(f"{each.label} {each.strategy}" for each in covering)
    several = len({each.strategy for each in covering}) > 1
    return mark(".serve-span.serve-both" if several else ".serve-span", title=visible(said))[text]


def _note(each: Highlight, document: Document, query: PageQuery) -> Node:
    """The strategy that found a passage, and why, beside the text."""
    steps = each.passage.trace.explain()
    return details(open=False)[
        summary[
            a(".ls-badge", href=f"{query.link('document', id=document.id, at=each.start)}#{each.label}")[each.label],
            " ",
            name(each.strategy),
            span(".ls-score")[f"{each.passage.score:.3f}"],
        ],
        ul[[li[name(step)] for step in steps[:_MOST_STEPS]]],
        len(steps) > _MOST_STEPS and p(".ls-more")[f"and {len(steps) - _MOST_STEPS} more steps"],
    ]


def _anchors(document: Document) -> dict[int, int]:
    """The anchors of sections: the ordinal of the first leaf, by the leaf's first character."""
    if document.outline is None:
        return {}
    starts = (0, *document.outline.ends)
    return {starts[each.first]: each.first for each in document.outline.sections if each.first < len(starts) - 1}


def _found_passages(answers: Sequence[Answer], document_id: str) -> Node:
    """The passages that each strategy found in this document, and why, side by side."""
    if not answers:
        return None
    here = [each.of_document(document_id) for each in answers]
    count = sum(len(each.passages) for each in here)
    return details(".serve-folded", open=False)[
        summary[f"what was found in this document, and why: {count} {'passage' if count == 1 else 'passages'}"],
        div(".ls-columns")[
            [
                section(".ls-result")[span(".ls-strategy")[name(each.strategy)], error_box(each.error)]
                if each.error is not None
                else results_picture(each.passages, None, each.words, heading=each.strategy)
                for each in here
            ]
        ],
    ]


def _headings(document: Document, query: PageQuery) -> Node:
    """The outline, with a link from each heading to its place."""
    outline = document.outline
    if outline is None or not outline.sections:
        return None
    starts = (0, *outline.ends)
    shown = [each for each in outline.sections if each.text and each.first < len(starts)]
    more = len(shown) - _MOST_HEADINGS
    return details(".serve-folded", open=len(shown) <= 20)[
        summary["outline"],
        ul(".serve-outline")[
            [
                li(style=f"margin-inline-start:{max(each.depth - 1, 0) * 1.2:.1f}em")[
                    a(href=f"{query.link('document', id=document.id, at=starts[each.first])}#leaf-{each.first}")[
                        name(each.text)
                    ]
                ]
                for each in shown[:_MOST_HEADINGS]
            ],
            more > 0 and li(".ls-more")[f"and {more:,} more headings"],
        ],
    ]


def _pager(document: Document, query: PageQuery, parts: Sequence[tuple[int, int]], number: int) -> Element:
    if len(parts) == 1:
        return h2["Text"]

    def to(place: int, said: str) -> Node:
        if not 0 <= place < len(parts):
            return span[said]
        return a(href=query.link("document", id=document.id, at=parts[place][0]))[said]

    start, end = parts[number]
    return nav(".serve-pager", aria_label="parts")[
        to(number - 1, "previous"),
        span[f"part {number + 1} of {len(parts)}: characters {start:,} to {end:,}"],
        to(number + 1, "next"),
    ]
