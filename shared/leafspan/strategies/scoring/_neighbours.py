"""Bonuses for neighbours: the leaf before or after one that answers a question often holds part of the answer."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.values import LeafId

_new = tuple.__new__  # in half the time that LeafId(*key) takes


def neighbour_bonuses(scores: Mapping[LeafId, float], share: float) -> dict[LeafId, float]:
    """A bonus for each leaf: ``share`` times the score of its better neighbour.

    Neighbours of leaves with a score get a bonus too, even without a score of their own. Among them may be an ordinal
    behind the end of a document; the caller has to drop it.
    """
    if not share:
        return dict.fromkeys(scores, 0.0)
    bonuses = dict.fromkeys(scores, 0.0)
    for (document, version, ordinal), score in scores.items():
        bonus = share * score
        # A tuple finds what a LeafId is the key of, and takes a fraction of the time to make.
        for neighbour in (ordinal - 1, ordinal + 1) if ordinal else (1,):
            key = (document, version, neighbour)
            bonus_so_far = bonuses.get(key)  # type: ignore[call-overload]
            if bonus_so_far is None:
                if bonus > 0:
                    bonuses[_new(LeafId, key)] = bonus
            elif bonus > bonus_so_far:
                bonuses[key] = bonus  # type: ignore[index]
    return bonuses
