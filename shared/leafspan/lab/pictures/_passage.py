"""Draws a passage: its source, its score, its text, and why it was returned."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from htpy import Element, Node, article, details, div, footer, header, li, p, span, summary, ul

from leafspan.lab.pictures._strip import block_of, leaves_named, pieces_of, strip
from leafspan.lab.pictures._text import Places, code_in, marked_text, name
from leafspan.text import first_words
from leafspan.trace import Merge, Trace
from leafspan.values import Covered, Passage

_MOST_TEXT = 20_000  # drawn characters of a passage


def passage_picture(passage: Passage) -> Element:
    """Draw a single passage, with its document as a strip above it."""
    outline = passage.outline
    return div(".ls-single")[
        outline is not None and outline.leaves > 0 and strip(outline, [block_of(passage, None, nodes=True)]), card(passage)
    ]


def card(
    passage: Passage,
    number: int | None = None,
    best: float | None = None,
    words: Places | None = None,
    below: Callable[[Passage], Node] | None = None,
) -> Element:
    """Draw a passage among others."""
    return article(".ls-card")[
        header(".ls-head")[
            number is not None and span(".ls-badge")[str(number)],
            span(".ls-where")[where(passage)],
            passage.is_scored and span(".ls-score", title="score")[_bar(passage.score, best), f"{passage.score:.3f}"],
        ],
        div(".ls-text", dir="auto")[text_of(passage, words)],
        below is not None and below(passage),
        why(passage.trace),
        footer(".ls-foot")[name(passage.id)],
    ]


def text_of(passage: Passage, words: Places | None = None) -> Node:
    """The passage's text, with its found leaves marked."""
    drawn = min(len(passage.text.rstrip()), _MOST_TEXT)
    more = len(passage.text.rstrip()) - drawn
    text = passage.text[:drawn]
    pieces = [each._replace(end=min(each.end, drawn)) for each in pieces_of(passage) if each.start < drawn]
    places = () if words is None else words(text)
    return [
        marked_text(text, pieces, places, code_in(text, passage.document_id)),
        more > 0 and p(".ls-more")[f"and {more:,} more characters"],
    ]


def where(passage: Passage) -> Node:
    """The passage's document, headings and lines, or a summary's leaves."""
    title = passage.title or passage.document_id
    path: list[Node] = [span(".ls-title")[name(title)]] if title else []
    # The first heading of a file is often its title.
    headings = passage.headings[1:] if passage.headings and passage.headings[0] == title else passage.headings
    path += [[span(".ls-sep")[" › "], name(heading)] for heading in headings]
    said: list[str] = []
    if passage.summary is not None:
        said.append(f"summary in layer {passage.summary.layer} of {_leaves(passage.summary.size)}")
    elif passage.place is not None:
        said.append(passage.place)
    elif passage.lines is not None:
        first, last = passage.lines
        said.append(f"line {first}" if first == last else f"lines {first} to {last}")
    elif passage.start is not None and passage.end is not None:
        said.append(f"characters {passage.start:,} to {passage.end:,}")
    elif passage.kind not in ("text", "summary"):
        path.append(span(".ls-kind")[name(passage.kind)])
    if passage.summary is not None and not passage.document_id:
        path.append(covered_documents(passage.summary.covers))
    return [path, said and span(".ls-place")[" · " if path else "", ", ".join(said)]]


def _leaves(count: int) -> str:
    return "1 leaf" if count == 1 else f"{count:,} leaves"


def _bar(score: float, best: float | None) -> Node:
    """The score as a bar, in proportion to the best score."""
    if best is None or not (math.isfinite(score) and math.isfinite(best) and best > 0):
        return None
    share = round(100 * min(max(score / best, 0.0), 1.0))
    return span(".ls-bar", aria_hidden="true")[span(style=f"width:{share}%")]


_MOST_CHILDREN = 24  # boxes of a merge
_MOST_MENTIONS = 3  # leaves that mention a document
_MOST_STEPS = 40  # sentences of a passage


def why(trace: Trace) -> Node:
    """The steps in sentences, folded, below the merges and mentions. For an empty trace, nothing is drawn."""
    steps = trace.explain()
    more = len(steps) - _MOST_STEPS
    references = (fused.reference for fused in trace.fused if fused.reference is not None)
    mentions = list(dict.fromkeys((each.leaf, each.written) for each in references))[:_MOST_MENTIONS]
    return [
        [_merge(merge) for merge in trace.merges],
        [_mention(leaf, written) for leaf, written in mentions],
        bool(steps)
        and details(".ls-why")[
            summary["why"],
            ul[
                [li[name(step)] for step in steps[:_MOST_STEPS]],
                more > 0 and li[f"and {more} more steps: passage.trace.explain()"],
            ],
        ],
    ]


def _merge(merge: Merge) -> Element:
    drawn = min(merge.children, _MOST_CHILDREN)
    present = min(drawn, -(-drawn * merge.present // max(merge.children, 1)))
    return div(".ls-merge")[
        span(".ls-boxes", aria_hidden="true")["■" * present + "□" * (drawn - present)],
        f" {merge.present} of {merge.children} children were found, so they became their parent: "
        f"{leaves_named(merge.first, merge.last)}, level {merge.level}",
    ]


def _mention(leaf: str, written: str) -> Element:
    return div(".ls-mention")["mentioned as ", name(first_words(written)), " in ", name(leaf)]


_NAMED = 4


def covered_documents(runs: Sequence[Covered]) -> Node:
    """The ids of the documents, in the order of the runs. If there are many, only the first ids."""
    ids = list(dict.fromkeys(run.document_id for run in runs))
    more = len(ids) - _NAMED
    return [
        span(".ls-title")[f"{len(ids)} documents: "],
        [[", " if number else "", name(id_)] for number, id_ in enumerate(ids[:_NAMED])],
        more > 0 and f" and {more} more",
    ]
