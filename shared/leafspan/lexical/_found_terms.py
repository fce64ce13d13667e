"""Terms that were found in the counted leaves: which leaves have them, and what each contributes to scores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_KEPT = 1 << 20  # leaves of all terms together, about 40 bytes each


class NodeTerm(NamedTuple):
    """A term in the larger nodes of a scale.

    Attributes:
        numbers: The nodes that score for it.
        tf: The score of each, for an idf of 1.
        idf: Its idf among the nodes.
    """

    numbers: NDArray[np.intp]
    tf: NDArray[np.float64]
    idf: float


@dataclass(slots=True)
class FoundTerm:
    """A term in the counted leaves with one reading. Nothing here depends on how often a query has the term.

    Attributes:
        rows: The leaves that have it, in ascending order.
        counts: How often each has it.
        tf: The score of each, for an idf of 1.
        bound: Upper bound of ``tf + absent``.
        nodes: The same for larger nodes, scale after scale. None until it is needed.
    """

    rows: NDArray[np.intp]
    counts: NDArray[Any]
    tf: NDArray[np.float64]
    bound: float
    nodes: Sequence[NodeTerm] | None = field(default=None, compare=False)


def added_up(given: Sequence[tuple[NDArray[np.intp], NDArray[np.float64], float]], count: int) -> NDArray[np.float64]:
    """Sum the scores of ``count`` leaves or nodes over the terms. Each term gives rows, their values, and a weight."""
    import numpy as np

    if not given:
        return np.zeros(count)
    numbers, amounts, weights = zip(*given, strict=True)
    weight_of_each = np.repeat(weights, [len(each) for each in numbers])
    scores = np.bincount(np.concatenate(numbers), np.concatenate(amounts) * weight_of_each, count)
    return scores.astype(np.float64, copy=False)


class KnownTerms:
    """Terms that were found before. Queries share words, and the most frequent words take the most time."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Mapping[int | None, FoundTerm]] = {}
        self._leaves = 0

    def find(self, key: Hashable, find: Callable[[], Mapping[int | None, FoundTerm]]) -> Mapping[int | None, FoundTerm]:
        """Return the term with this key by reading, or else what ``find`` returns."""
        if (found := self._known.get(key)) is None:
            found = find()
            if (count := sum(len(each.rows) for each in found.values())) <= _MOST_KEPT // 4:
                if self._leaves + count > _MOST_KEPT:
                    self._known.clear()
                    self._leaves = 0
                self._known[key] = found
                self._leaves += count
        return found
