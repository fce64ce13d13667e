"""Evidence from next door: what stands beside a leaf that answers a question is often part of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Place: TypeAlias = tuple[str, str, int]
"""Document, version and ordinal of a leaf."""


def neighbour_bonuses(scores: Mapping[Place, float], share: float) -> dict[Place, float]:
    """For each leaf, and for each that stands next to one, ``share`` times the better of its neighbours' scores.

    A leaf without a score gives nothing, and can get a bonus all the same. So can one behind the end of its document,
    which is for the caller to find out.
    """
    if not share:
        return dict.fromkeys(scores, 0.0)
    bonuses = dict.fromkeys(scores, 0.0)
    for (document, version, ordinal), score in scores.items():
        for beside in (ordinal - 1, ordinal + 1):
            place = (document, version, beside)
            if beside >= 0 and share * score > bonuses.get(place, 0.0):
                bonuses[place] = share * score
    return bonuses
