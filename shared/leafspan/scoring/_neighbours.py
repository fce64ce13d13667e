"""Evidence from next door: what stands beside a leaf that answers a question is often part of the answer."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.values import LeafId


def neighbour_bonuses(scores: Mapping[LeafId, float], share: float) -> dict[LeafId, float]:
    """For each leaf, and for each that stands next to one, ``share`` times the better of its neighbours' scores.

    A leaf without a score gives nothing, and can get a bonus all the same. So can one behind the end of its document,
    which is for the caller to find out.
    """
    if not share:
        return dict.fromkeys(scores, 0.0)
    bonuses = dict.fromkeys(scores, 0.0)
    for (document, version, ordinal), score in scores.items():
        bonus = share * score
        before, behind = LeafId(document, version, ordinal - 1), LeafId(document, version, ordinal + 1)
        if ordinal and bonus > bonuses.get(before, 0.0):
            bonuses[before] = bonus
        if bonus > bonuses.get(behind, 0.0):
            bonuses[behind] = bonus
    return bonuses
