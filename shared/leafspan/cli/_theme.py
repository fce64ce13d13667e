"""A question about a whole theme: what leaves tell of it, and what the leaves below summaries do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leafspan.index import Index
from leafspan.strategies import Hybrid, RelevantSegments, Strategy, Tree, Vector
from leafspan.values import Passage

THEME = "How did ideas about combustion develop?"
"""Told in several places of one of the example texts, none of which answers it alone."""

THEME_DOCUMENT = "Oxygen"
THEME_PLACES = ((1810, 3872), (6293, 7088), (9683, 10503))
"""From Boyle to Priestley and earlier experiments, the phlogiston theory, Lavoisier: the characters of whole paragraphs."""

THEME_BUDGET = 300  # words

_ASKED: dict[str, Strategy] = {
    "vector": Vector(),
    "hybrid": Hybrid(),
    "relevant-segments": RelevantSegments(),
    "tree, expand=10": Tree(expand=10),
}


@dataclass(frozen=True, slots=True)
class ThemeCoverage:
    """How much of the theme a strategy's passages hold, a share in [0, 1], and the other documents they are of."""

    strategy: str
    share: float
    others: tuple[str, ...]


def theme_coverage(index: Index) -> list[ThemeCoverage]:
    """The strategies side by side, at the same number of words."""
    return [_told(name, index.retrieve(THEME, strategy, budget=THEME_BUDGET)) for name, strategy in _ASKED.items()]


def _told(strategy: str, passages: Sequence[Passage]) -> ThemeCoverage:
    places = [(passage.start, passage.end) for passage in passages if passage.document_id == THEME_DOCUMENT]
    held = sum(max(0, min(end, last) - max(start, first)) for start, end in places for first, last in THEME_PLACES)
    others = sorted({passage.document_id for passage in passages} - {THEME_DOCUMENT})
    return ThemeCoverage(strategy, held / sum(last - first for first, last in THEME_PLACES), tuple(others))
