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

    Leaves are given by numbers: that of their document, times ``document``, plus their ordinal, which is smaller.
    Neighbours of leaves with a score get a bonus too, even without a score of their own: so the answer has more numbers, in
    ascending order. Among them may be an ordinal behind the end of a document; the caller has to drop it.
    """
    import numpy as np

    given = share * scores
    gives = given > 0
    before, behind = gives & (numbers % document > 0), gives
    # Who has nothing to give to a neighbour gives itself 0.
    takers = np.concatenate([numbers, numbers - before, numbers + behind])
    order = takers.argsort(kind="stable")
    takers = takers[order]
    # The first taker, if there is any, and each that differs from the one before it.
    firsts = np.flatnonzero(np.concatenate([takers[:1] >= 0, takers[1:] != takers[:-1]]))
    amounts = np.concatenate([np.zeros(len(numbers)), given * before, given * behind])[order]
    return takers[firsts], np.maximum.reduceat(amounts, firsts) if len(firsts) else amounts
