"""Draws the results of several strategies for one question, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from htpy import Element, div, h3, header, section

from leafspan.lab.pictures._results import results_picture
from leafspan.lab.pictures._text import Places, name
from leafspan.values import Passage


def comparison_picture(
    question: str | None, results: Mapping[str, Sequence[Passage]], words: Places | None = None
) -> Element:
    """Draw the results beside each other if the page is wide enough, otherwise below each other."""
    return section(".ls-comparison")[
        header(".ls-question")[question is not None and h3[name(question)]],
        div(".ls-columns")[[results_picture(each, None, words, heading=strategy) for strategy, each in results.items()]],
    ]
