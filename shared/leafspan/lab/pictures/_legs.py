"""Draws the lists that a result was fused from, side by side, with each passage's rank in each list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from htpy import Element, Node, div, figcaption, figure, li, ol, small, span

from leafspan.lab.pictures._strip import leaves_named
from leafspan.lab.pictures._text import name
from leafspan.values import Passage

_MOST = 8  # entries of a list


@dataclass(frozen=True, slots=True)
class Entry:
    """A result in a list.

    Attributes:
        rank: Its rank in the list, from 1.
        number: Number of its passage, from 1.
        place: Its leaves in words.
        score: Its score in the list.
        share: Its share of the fused score, in [0, 1].
    """

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
