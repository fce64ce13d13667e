"""Draws why a passage was returned: its steps in sentences, its merges, and the leaves that mention it."""

from __future__ import annotations

from htpy import Element, Node, details, div, li, span, summary, ul

from leafspan.lab.pictures._strip import leaves_named
from leafspan.lab.pictures._text import name
from leafspan.text import first_words
from leafspan.trace import Merge, Trace

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
    there = min(drawn, -(-drawn * merge.present // max(merge.children, 1)))
    return div(".ls-merge")[
        span(".ls-boxes", aria_hidden="true")["■" * there + "□" * (drawn - there)],
        f" {merge.present} of {merge.children} children were found, so they became their parent: "
        f"{leaves_named(merge.first, merge.last)}, level {merge.level}",
    ]


def _mention(leaf: str, written: str) -> Element:
    return div(".ls-mention")["mentioned as ", name(first_words(written)), " in ", name(leaf)]
