"""Why a passage was returned: its steps in sentences, and each merge with the children that were there."""

from __future__ import annotations

from htpy import Element, Node, details, div, li, span, summary, ul

from leafspan.pictures._strip import leaves_named
from leafspan.pictures._text import name
from leafspan.trace import Merge, Trace

_MOST_CHILDREN = 24  # boxes of a merge
_MOST_STEPS = 40  # sentences of a passage


def why(trace: Trace) -> Node:
    """The steps in sentences, folded; above them the merges. Nothing for an empty trace.

    Args:
        trace: How a passage came about.
    """
    steps = trace.explain()
    more = len(steps) - _MOST_STEPS
    return [
        [_merge(merge) for merge in trace.merges],
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
