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

    Leaves are given by numbers: their document's number times ``document``, plus their ordinal, which is smaller.
    Neighbours of leaves with a score get a bonus too, even without a score of their own: so the answer has more numbers, in
    ascending order. It may include an ordinal after the end of a document, which the caller has to drop.
    """
    import numpy as np

    given = share * scores
    gives = given > 0
    before, behind = gives & (numbers % document > 0), gives
    # A leaf without a bonus for its neighbours gives itself 0.
    takers = np.concatenate([numbers, numbers - before, numbers + behind])
    order = takers.argsort(kind="stable")
    takers = takers[order]
    # The first taker, if any, and each taker that differs from the previous one.
    firsts = np.flatnonzero(np.concatenate([takers[:1] >= 0, takers[1:] != takers[:-1]]))
    amounts = np.concatenate([np.zeros(len(numbers)), given * before, given * behind])[order]
    return takers[firsts], np.maximum.reduceat(amounts, firsts) if len(firsts) else amounts
