"""A question about a whole theme, and how much of the theme each strategy returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leafspan.index import Index
from leafspan.strategies import Hybrid, RelevantSegments, Strategy, Tree, Vector
from leafspan.values import Passage

THEME = "How did ideas about combustion develop?"
"""A question that several places of one example text answer together, but none of them alone."""

THEME_DOCUMENT = "Oxygen"
"""That text's id."""

THEME_PLACES = ((1810, 3872), (6293, 7088), (9683, 10503))
"""The first character, and the character after the last one, of the paragraphs that answer it.

They are about Boyle to Priestley and earlier experiments, about the phlogiston theory, and about Lavoisier.
"""

THEME_BUDGET = 300
"""The number of words that each strategy may return."""

_STRATEGIES: dict[str, Strategy] = {
    "vector": Vector(),
    "hybrid": Hybrid(),
    "relevant-segments": RelevantSegments(),
    "tree, expand=10": Tree(expand=10),
}


@dataclass(frozen=True, slots=True)
class ThemeCoverage:
    """How much of the theme a strategy's passages cover.

    Attributes:
        strategy: Name of the strategy.
        share: Share of the theme's characters that the passages cover, in [0, 1].
        others: Ids of the other documents that passages come from.
    """

    strategy: str
    share: float
    others: tuple[str, ...]


def theme_coverage(index: Index) -> list[ThemeCoverage]:
    """Return how much of the theme each strategy covers with ``THEME_BUDGET`` words."""
    return [_coverage(name, index.retrieve(THEME, strategy, budget=THEME_BUDGET)) for name, strategy in _STRATEGIES.items()]


def _coverage(strategy: str, passages: Sequence[Passage]) -> ThemeCoverage:
    places = [
        (passage.start, passage.end)
        for passage in passages
        if passage.document_id == THEME_DOCUMENT and passage.start is not None and passage.end is not None
    ]
    covered = sum(max(0, min(end, last) - max(start, first)) for start, end in places for first, last in THEME_PLACES)
    others = sorted({passage.document_id for passage in passages} - {THEME_DOCUMENT})
    return ThemeCoverage(strategy, covered / sum(last - first for first, last in THEME_PLACES), tuple(others))
