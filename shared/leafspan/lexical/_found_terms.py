"""Terms as they were found in the leaves that count: who has them, and what each gets for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_KEPT = 1 << 20  # leaves of all terms together, which take some 40 bytes each


class NodeTerm(NamedTuple):
    """A term in the larger nodes of a scale.

    Attributes:
        numbers: The nodes that get something for it.
        tf: What each gets, for an idf of 1.
        frequency: The number of nodes that have it, which also count where they were read in another way.
    """

    numbers: NDArray[np.intp]
    tf: NDArray[np.float64]
    frequency: int


@dataclass(slots=True)
class FoundTerm:
    """A term in the leaves that count. Nothing here depends on how often a query has it.

    Attributes:
        leaves: The leaves that have it, in ascending order.
        counts: How often each has it.
        kept: Which of them were read so that they have the term of the query. None: all.
        rows: These.
        tf: What each of these gets, for an idf of 1.
        bound: Upper bound of ``tf + absent``.
        nodes: The same for larger nodes, scale after scale. None until it is needed.
    """

    leaves: NDArray[np.intp]
    counts: NDArray[Any]
    kept: NDArray[np.bool_] | None
    rows: NDArray[np.intp]
    tf: NDArray[np.float64]
    bound: float
    nodes: Sequence[NodeTerm] | None = field(default=None, compare=False)


def added_up(given: Sequence[tuple[NDArray[np.intp], NDArray[np.float64], float]], count: int) -> NDArray[np.float64]:
    """The scores of so many leaves, or nodes, from what terms give: who gets something, how much, and for what weight."""
    import numpy as np

    if not given:
        return np.zeros(count)
    numbers, amounts, weights = zip(*given, strict=True)
    weight_of_each = np.repeat(weights, [len(each) for each in numbers])
    scores = np.bincount(np.concatenate(numbers), np.concatenate(amounts) * weight_of_each, count)
    return scores.astype(np.float64, copy=False)


class KnownTerms:
    """Terms that were found before. Questions share words, and the most frequent of these take the most time."""

    def __init__(self) -> None:
        self._known: dict[Hashable, FoundTerm] = {}
        self._leaves = 0

    def find(self, key: Hashable, find: Callable[[], FoundTerm]) -> FoundTerm:
        """The term with this key, or else what ``find`` returns."""
        if (found := self._known.get(key)) is None:
            found = find()
            if (count := len(found.leaves)) <= _MOST_KEPT // 4:
                if self._leaves + count > _MOST_KEPT:
                    self._known.clear()
                    self._leaves = 0
                self._known[key] = found
                self._leaves += count
        return found
