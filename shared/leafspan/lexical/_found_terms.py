"""The terms of a query in the counted leaves: which leaves have them, and what each contributes to scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafspan.lexical._variants import BM25Settings

    Mask = NDArray[np.bool_]

_MOST_KEPT = 1 << 20  # leaves of all terms together, about 40 bytes each


class AnotherTerm(str):
    """A term for words of the query in another writing, which has terms of its own. It adds nothing to ``Scores.ideal``."""


class NodeTerm(NamedTuple):
    """A term in the larger nodes of a scale."""

    numbers: NDArray[np.intp]  # the nodes that score for it
    tf: NDArray[np.float64]  # the score of each, for an idf of 1
    idf: float  # its idf among the nodes


@dataclass(slots=True)
class FoundTerm:
    """A term in the counted leaves with one reading. Nothing here depends on how often a query has the term."""

    rows: NDArray[np.intp]  # the leaves that have it, in ascending order
    counts: NDArray[Any]  # how often each has it
    tf: NDArray[np.float64]  # the score of each, for an idf of 1
    bound: float  # upper bound of ``tf + absent``
    # The same for larger nodes, scale after scale. None until it is needed
    nodes: Sequence[NodeTerm] | None = field(default=None, compare=False)


@dataclass(slots=True)
class Group:
    """Leaves that one index of BM25 would have: those with the same reading, or all if they are read alike."""

    leaves: int
    terms: int  # their total length, in terms
    # At index n > 0, the number of terms that n of them have. None until it is needed
    frequencies: NDArray[np.intp] | None = None
    nodes: list[int] | None = None  # the number of larger nodes of each scale. None until it is needed

    @property
    def average(self) -> float:
        """The average length of the leaves, in terms."""
        return self.terms / self.leaves if self.terms else 1.0


class CountedLeaves(NamedTuple):
    """The counted leaves of a query."""

    masks: list[Mask | None]  # mask of these leaves for each part, None if all leaves of the part are counted
    groups: Mapping[int, Group]  # the leaves of each reading
    every: Group

    def are_alike(self, reading: int | None) -> bool:
        """Whether all of them have this reading, or are read alike by the query."""
        return reading is None or [*self.groups] == [reading]

    def group_of(self, reading: int | None) -> Group:
        """Return the leaves with a reading; None for all."""
        return self.every if reading is None else self.groups.get(reading) or Group(0, 0)


class Term(NamedTuple):
    """A term of the query, for leaves with one reading."""

    name: str
    reading: int | None  # the reading. None if all leaves are read alike
    found: FoundTerm  # the leaves that have it
    times: float  # its count in the query
    idf: float  # its idf among the leaves with this reading
    scale: float = 1.0  # what the scores of the reading are multiplied by

    @property
    def weight(self) -> float:
        """What its ``tf`` is multiplied by."""
        return self.times * self.idf * self.scale


class WeighedTerms(NamedTuple):
    """The terms of a query, the counted leaves, and the upper bound of scores."""

    terms: Sequence[Term]
    counted: CountedLeaves
    ideal: float


def scaled(terms: Sequence[Term], counted: CountedLeaves, own: int | None) -> WeighedTerms:
    """Scale the scores of each reading, so that their upper bounds are equal to the bound of the query's own reading."""
    ideals: defaultdict[int | None, float] = defaultdict(float)
    for term in terms:
        if not isinstance(term.name, AnotherTerm):
            ideals[term.reading] += max(term.weight, 0.0) * term.found.bound
    bounds = {reading: ideal for reading, ideal in ideals.items() if ideal > 0}
    main = own if own in bounds else max(bounds, key=lambda reading: counted.group_of(reading).leaves, default=None)
    ideal = bounds.get(main, 0.0)
    if len(bounds) > 1:
        terms = [term._replace(scale=ideal / bounds.get(term.reading, ideal)) for term in terms]
    return WeighedTerms(terms, counted, ideal)


def nowhere(settings: BM25Settings) -> FoundTerm:
    """Return a term that no leaf has."""
    import numpy as np

    return FoundTerm(np.zeros(0, np.intp), np.zeros(0, np.uint8), np.zeros(0), settings.max_tf([]) + settings.absent)


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
