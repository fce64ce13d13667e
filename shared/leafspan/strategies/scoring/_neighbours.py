"""Bonuses for neighbours: the leaf before or after one that answers a question often holds part of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


def neighbour_bonuses(
    numbers: Numbers, scores: NDArray[Any], share: float, *, document: int
) -> tuple[Numbers, NDArray[np.float64]]:
    """A bonus for each leaf: ``share`` times the score of its better neighbour, where that is above 0.

    Leaves are given by numbers in ascending order: that of their document, times ``document``, plus their ordinal, which is
    smaller. Neighbours of leaves with a score get a bonus too, even without a score of their own: so there are more numbers
    in the answer. Among them may be an ordinal behind the end of a document; the caller has to drop it.
    """
    import numpy as np

    given = share * scores
    gives = given > 0
    numbers_before, given_before = _picked(numbers, given, gives & (numbers % document > 0))
    numbers_behind, given_behind = _picked(numbers, given, gives)
    reached = (numbers_before - 1, given_before), (numbers_behind + 1, given_behind)
    everything = np.unique(np.concatenate([numbers, *(each for each, _ in reached)]))
    bonuses = np.zeros(len(everything))
    for each, amounts in reached:
        places = everything.searchsorted(each)
        bonuses[places] = np.maximum(bonuses[places], amounts)
    return everything, bonuses


def _picked(numbers: Numbers, given: NDArray[Any], which: NDArray[np.bool_]) -> tuple[Numbers, NDArray[Any]]:
    return numbers[which], given[which]
