"""BM25 over any number of inverted indexes, as if they were one that holds only the leaves that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.errors import InvalidArgument
from leafspan.lexical._postings import Postings
from leafspan.lexical._variants import BM25Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

_GROUP = 64  # leaves, of which the best is looked at first when the best of all are wanted


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one query, one a leaf; ``ideal`` is the most that a leaf could have.

    ``present`` marks the leaves that count and have one of the query's terms at least; a score may be 0 or less for one
    of them (in okapi), and above 0 for others (in bm25+). Leaves that do not count have 0. ``marked``: the same, None where
    all of them, and no others, have a score above 0.

    ``ideal`` adds up, over the query's terms, the idf times the bound of ``BM25Settings.most``: no leaf exceeds it, and one
    that has each term very often comes close. A term that no leaf has counts in it as the rarest there could be, so that
    a leaf which has the rest scores below 1 on a scale from 0 to ``ideal``. One with a negative idf (okapi) adds 0.
    """

    scores: NDArray[np.float64]
    marked: Mask | None
    ideal: float

    @property
    def present(self) -> Mask:
        """Which leaves have a term of the query."""
        return self.scores > 0 if self.marked is None else self.marked


class Corpus:
    """The leaves of all parts, numbered through from the first part's first; each part is (arrays, live mask or None).

    Document frequencies, the number of leaves and their average length are those of the leaves that count at the time of
    the query. So the scores are those of an index built anew of these leaves, to the digit, whatever came and went.
    Arrays and masks must stay as they are; after a change a new corpus is made, which costs next to nothing.
    """

    def __init__(self, parts: Sequence[tuple[Mapping[str, NDArray[Any]], Mask | None]]) -> None:
        self._parts: list[_Part] = []
        self.leaves = 0  # the dead ones too
        for number, (arrays, live) in enumerate(parts):
            postings = Postings(arrays)
            leaves = len(postings.lengths)
            _check_mask(live, leaves)
            some_dead = live is not None and not live.all()
            self._parts.append(
                _Part(number, postings, live if some_dead else None, slice(self.leaves, self.leaves + leaves))
            )
            self.leaves += leaves
        self._all = self._count(None)
        self._norms: tuple[object, list[NDArray[np.float64]]] = (None, [])
        self._terms: list[NDArray[np.intp]] | None = None

    def score(self, terms: Sequence[str], *, settings: BM25Settings, counting: Mask | None = None) -> Scores:
        """The scores of all leaves for a query's terms; one that stands there twice counts twice.

        Only live leaves count, and of them, where ``counting`` is given, only those it marks.

        Raises:
            InvalidArgument: if ``counting`` is not a mask of as many leaves.
        """
        import numpy as np

        _check_mask(counting, self.leaves)
        counted = self._all if counting is None else self._count(counting)
        found = [self._find(term, times, counted, settings) for term, times in Counter(terms).items()]
        known = [term for term in found if term.frequency]
        scores = np.zeros(self.leaves)
        positive = settings.absent == 0 and all(term.weight > 0 for term in known)
        present = None if positive else np.zeros(self.leaves, dtype=np.bool_)
        if absent := settings.absent * sum(term.weight for term in known):
            for part, mask in zip(self._parts, counted.masks, strict=True):
                scores[part.place][slice(None) if mask is None else mask] = absent
        for term in known:
            for part, rows, counts in term.leaves:
                weights = settings.tf(counts, self._norms_of(part, rows, counted, settings))
                weights *= term.weight
                scores[part.place][rows] += weights
                if present is not None:
                    present[part.place][rows] = True
        return Scores(scores, present, sum(max(term.weight, 0.0) * term.most for term in found))

    def _find(self, term: str, times: int, counted: _Counted, settings: BM25Settings) -> _Term:
        """Where the leaves that count have the term, and what it is worth among them."""
        import numpy as np

        leaves = []
        for part, mask in zip(self._parts, counted.masks, strict=True):
            if (place := part.postings.find(term)) is not None:
                rows, counts = place[0].astype(np.intp), place[1]  # as numpy indexes: it would convert them every time
                if mask is not None:
                    kept = mask[rows]
                    rows, counts = rows[kept], counts[kept]
                if len(rows):
                    leaves.append((part, rows, counts))
        frequency = sum(len(rows) for _, rows, _ in leaves)
        idf = settings.idf(counted.leaves, frequency)
        if idf < 0:
            idf = self._floor(counted, settings)
        return _Term(leaves, frequency, times * idf, settings.most([counts for _, _, counts in leaves]) + settings.absent)

    def _norms_of(
        self, part: _Part, rows: NDArray[np.intp], counted: _Counted, settings: BM25Settings
    ) -> NDArray[np.float64]:
        """The leaves' norms, as a new array; those of all leaves of the corpus are kept for the next query."""
        if counted is not self._all:
            return settings.norms(part.postings.lengths[rows], counted.average)
        key = (settings.k1, settings.b, settings.variant == "bm25l")
        kept, norms = self._norms  # read and set as one: a query of another thread may have other settings
        if kept != key:
            norms = [settings.norms(each.postings.lengths, counted.average) for each in self._parts]
            self._norms = key, norms
        return norms[part.number].take(rows)

    def _floor(self, counted: _Counted, settings: BM25Settings) -> float:
        """What okapi puts in the place of a negative idf."""
        import numpy as np

        frequencies = counted.frequencies
        if frequencies is None:
            if self._terms is None:
                self._terms = _number_terms([part.postings for part in self._parts])
            of_term = np.zeros(1 + max((int(numbers.max(initial=-1)) for numbers in self._terms), default=-1), np.int64)
            for part, numbers, mask in zip(self._parts, self._terms, counted.masks, strict=True):
                of_term[numbers] += part.postings.frequencies(mask)
            frequencies = np.bincount(of_term, minlength=1)
            frequencies[0] = 0  # terms of leaves that do not count
            counted.frequencies = frequencies
        return settings.floor(counted.leaves, frequencies)

    def _count(self, counting: Mask | None) -> _Counted:
        """The leaves that count, and how many and how long they are."""
        import numpy as np

        masks: list[Mask | None] = []
        leaves = terms = 0
        for part in self._parts:
            mask = part.live
            if counting is not None:
                mask = counting[part.place] if mask is None else counting[part.place] & mask
            masks.append(mask)
            lengths = part.postings.lengths
            leaves += len(lengths) if mask is None else int(np.count_nonzero(mask))
            terms += int((lengths if mask is None else lengths * mask).sum(dtype=np.int64))
        return _Counted(masks, leaves, terms / leaves if terms else 1.0)


def best(scores: Scores, count: int, order: Callable[[int], Any]) -> list[int]:
    """The rows of the ``count`` best leaves that are present, best first; fewer where fewer are.

    Equal scores are in the order of the keys ``order(row)``, at the last place too: so which of them are in does not
    depend on how the leaves are spread over parts, as long as their keys do not.
    """
    import numpy as np

    if count <= 0:
        return []
    found = scores.scores if scores.marked is None else np.where(scores.marked, scores.scores, -np.inf)
    reached = _reached(found, count)
    rows = np.flatnonzero(found >= reached if reached > 0 else scores.present & (found >= reached))
    tied: list[int] = []
    if len(rows) > count:
        last = np.partition(found[rows], len(rows) - count)[len(rows) - count]
        tied = rows[found[rows] == last].tolist()
        rows = rows[found[rows] > last]
    rows = rows[np.argsort(-found[rows], kind="stable")]
    above: list[int] = []
    # The key is asked for only where scores are equal, which is seldom.
    for _, same in groupby(zip(found[rows].tolist(), rows.tolist(), strict=True), key=itemgetter(0)):
        equal = [row for _, row in same]
        above += equal if len(equal) == 1 else sorted(equal, key=order)
    return above + (nsmallest(count - len(above), tied, key=order) if len(tied) > 1 else tied)


def _reached(found: NDArray[np.float64], count: int) -> float:
    """A score that at least ``count`` leaves reach, and few more: these few are faster to partition than all.

    The leaves are dealt out to groups; of the ``count`` groups with the best leaves, each has one that reaches the last's.
    """
    import numpy as np

    groups = len(found) // _GROUP
    if groups < count:
        return -np.inf
    tops = found[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    return float(np.partition(tops, groups - count)[groups - count])


class _Part(NamedTuple):
    number: int
    postings: Postings
    live: Mask | None  # None where all are
    place: slice  # of its leaves among all


@dataclass(slots=True)
class _Counted:
    """The leaves that count, by part (None: all of it); ``frequencies[n]`` terms are in n of them, computed when needed."""

    masks: list[Mask | None]
    leaves: int
    average: float  # length
    frequencies: NDArray[np.intp] | None = None


class _Term(NamedTuple):
    """A term of the query: where the leaves that count have it, how often, and its weight, idf times its count there."""

    leaves: list[tuple[_Part, NDArray[np.intp], NDArray[Any]]]
    frequency: int
    weight: float
    most: float


def _number_terms(parts: Sequence[Postings]) -> list[NDArray[np.intp]]:
    """Numbers for the terms of each part, the same for one term in all of them."""
    import numpy as np

    if len(parts) == 1:
        return [np.arange(parts[0].terms)]
    numbers: dict[bytes, int] = {}
    numbered = []
    for part in parts:
        words = map(part.word, range(part.terms))
        numbered.append(np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), np.intp, part.terms))
    return numbered


def _check_mask(mask: Mask | None, leaves: int) -> None:
    if mask is not None and (mask.dtype != bool or mask.shape != (leaves,)):
        raise InvalidArgument(f"a mask must be a bool for each of the {leaves} leaves, got {mask.dtype} of {mask.shape}")
