"""The terms of a query in the counted leaves, and BM25's variants: which leaves have a term, and what it adds to scores.

BM25's variants: a term's weight depends on how many leaves have it, and on how often a leaf has it.

A score is the sum, over the terms of a query, of ``idf * (tf + absent)``, where ``tf`` is 0 for leaves without the term.
N is the number of leaves, n the number of leaves with the term, f how often a leaf has it, and
c = f / (1 - b + b * length / average length).

=========  ============================  ==================================================  ============
variant    idf                           tf                                                  absent
=========  ============================  ==================================================  ============
lucene     ln(1 + (N - n + .5)/(n + .5)) c / (k1 + c)                                        0
okapi      ln((N - n + .5)/(n + .5))     (k1 + 1) c / (k1 + c)                               0
bm25l      ln((N + 1)/(n + .5))          f (k1 + 1) (c + delta) / (k1 + c + delta)           0
bm25+      ln((N + 1)/n)                 (k1 + 1) c / (k1 + c)                               delta
=========  ============================  ==================================================  ============

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, section 3.4 (okapi).
Apache Lucene since version 8 (lucene): okapi with an idf that is never negative, and without the factor k1 + 1, which
changes no order. Lv and Zhai, When Documents Are Very Long, BM25 Fails!, SIGIR 2011 (bm25l), and Lower-Bounding Term
Frequency Normalization, CIKM 2011 (bm25+).

The last three variants equal the library rank-bm25 to the digit. The library differs from the papers:

- okapi: the idf of a term in more than half of the leaves would be negative. It is replaced by ``epsilon`` times the mean
  idf of all terms, which may still be negative if there are few leaves. The paper keeps negative values.
- bm25l: the factor f is not in the paper.
- bm25+: in the paper only leaves with the term get delta. Here all leaves get it, which changes no order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from leafspan.checks import check_choice, check_number, shown
from leafspan.errors import InvalidArgument
from leafspan.flows import NDArray, np
from leafspan.lexical._postings import AnotherTerm, Postings
from leafspan.lexical._tokens import is_pair

Mask: TypeAlias = "NDArray[np.bool_]"

VARIANTS = ("lucene", "okapi", "bm25l", "bm25+")
_DELTA = {"bm25l": 0.5, "bm25+": 1.0}


@dataclass(frozen=True, slots=True)
class BM25Settings:
    """How BM25 scores. The defaults of ``k1`` and ``b`` are Anserini's, which do best on leaves of a few sentences.

    Args:
        k1: How much further occurrences of a term in a leaf add, >= 0. At 0 they add nothing. Default: 0.9.
        b: How much a long leaf is discounted for its length, in [0, 1]. At 0 it is not. Default: 0.4.
        variant: ``"lucene"``, ``"okapi"``, ``"bm25l"`` or ``"bm25+"``. Lucene's idf is never negative; bm25l and bm25+ are
            kinder to long leaves. Default: ``"lucene"``.
        delta: Constant that keeps long leaves from scoring too low, >= 0. Only for bm25l (default: 0.5) and bm25+
            (default: 1).
        epsilon: Share of the mean idf that replaces a negative idf, >= 0. Only for okapi. Default: 0.25.

    Raises:
        InvalidArgument: if an option is out of its range, there is no such variant, or the variant has no ``delta``.

    Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), section 3.4; Lv and Zhai, SIGIR 2011
    (bm25l) and CIKM 2011 (bm25+).
    """

    k1: float = 0.9
    b: float = 0.4
    variant: str = "lucene"
    delta: float | None = None
    epsilon: float = 0.25

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, VARIANTS)
        if self.delta is not None and self.variant not in _DELTA:
            raise InvalidArgument(
                f"delta is for the variants {', '.join(_DELTA)}, got {shown(self.delta)} for {self.variant}"
            )
        for name in ("k1", "b", "delta", "epsilon"):
            number = getattr(self, name)
            if name == "delta" and number is None:
                continue
            check_number(name, number, at_least=0, at_most=1 if name == "b" else None)
            object.__setattr__(self, name, float(number))  # an int would overflow in the small types of counts

    @property
    def lower_bound(self) -> float:
        """``delta``, or the variant's default, or 0 for variants without it."""
        return _DELTA.get(self.variant, 0.0) if self.delta is None else self.delta

    @property
    def absent(self) -> float:
        """The share of a term's idf that every leaf gets, even without the term: ``absent`` in the table."""
        return self.lower_bound if self.variant == "bm25+" else 0.0

    def idf(self, leaves: int, frequency: int) -> float:
        """Return the idf of a term that ``frequency`` of the leaves have, before ``floor`` replaces a negative one."""
        if self.variant == "lucene":
            return math.log(1 + (leaves - frequency + 0.5) / (frequency + 0.5))
        if self.variant == "okapi":
            return math.log(leaves - frequency + 0.5) - math.log(frequency + 0.5)
        if self.variant == "bm25l":
            return math.log(leaves + 1) - math.log(frequency + 0.5)
        return math.log((leaves + 1) / max(frequency, 1))  # infinite without leaves: treat it as one leaf

    def floor(self, leaves: int, frequencies: NDArray[Any]) -> float:
        """Return what replaces a negative idf in okapi. At index n > 0 is the number of terms that n leaves have."""
        # Summed by frequency rather than by term, so that the order of the terms changes no digit.
        in_use = np.flatnonzero(frequencies)
        idfs = np.log(leaves - in_use + 0.5) - np.log(in_use + 0.5)
        return self.epsilon * float(np.sum(idfs * frequencies[in_use])) / max(int(frequencies.sum()), 1)

    def norms(self, lengths: NDArray[Any], average: float) -> NDArray[np.float64]:
        """Return each leaf's length as ``tf`` needs it: 1 for a leaf of average length, and times k1 except in bm25l."""
        relative: NDArray[Any] = 1 - self.b + self.b * lengths / average
        return relative if self.variant == "bm25l" else self.k1 * relative

    def tf(self, counts: NDArray[Any], norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a term's ``tf`` in each leaf from its counts, > 0, and the leaves' ``norms``, which are overwritten."""
        if self.variant == "bm25l":
            tf: NDArray[np.float64] = np.divide(counts, norms, out=norms)
            tf += self.lower_bound
            tf /= self.k1 + tf
            tf *= counts * (self.k1 + 1)
            return tf
        norms += counts
        tf = np.divide(counts, norms, out=norms)
        if self.variant != "lucene":
            tf *= self.k1 + 1
        return tf

    def max_tf(self, counts: NDArray[Any]) -> float:
        """Return an upper bound of a term's ``tf``, from its counts in leaves.

        It is 1 in lucene, and k1 + 1 in okapi and bm25+: the more often a leaf has the term, the closer it gets. In
        bm25l ``tf`` grows with the count, so the bound is k1 + 1 times the largest count.
        """
        if self.variant == "lucene":
            return 1.0
        return (self.k1 + 1) * (int(counts.max(initial=1)) if self.variant == "bm25l" else 1)


_MOST_KEPT = 1 << 20  # leaves of all terms together, about 40 bytes each


class NodeTerm(NamedTuple):
    """A term in the larger nodes of a scale."""

    numbers: NDArray[np.intp]  # the nodes that score for it
    tf: NDArray[np.float64]  # the score of each, for an idf of 1
    idf: float  # its idf among the nodes


@dataclass(slots=True)
class TermPostings:
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
        return self.terms / self.leaves if self.terms else 1.0


class CountedLeaves(NamedTuple):
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
    postings: TermPostings  # the leaves that have it
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
            ideals[term.reading] += max(term.weight, 0.0) * term.postings.bound
    bounds = {reading: ideal for reading, ideal in ideals.items() if ideal > 0}
    main = own if own in bounds else max(bounds, key=lambda reading: counted.group_of(reading).leaves, default=None)
    ideal = bounds.get(main, 0.0)
    if len(bounds) > 1:
        terms = [term._replace(scale=ideal / bounds.get(term.reading, ideal)) for term in terms]
    return WeighedTerms(terms, counted, ideal)


def nowhere(term: str, settings: BM25Settings) -> TermPostings:
    """Return a term that no leaf has. A pair of characters has half of its bound, since half of the pairs are no words."""
    counts = np.zeros(0, np.uint8)
    bound = settings.max_tf(counts) + settings.absent
    return TermPostings(np.zeros(0, np.intp), counts, np.zeros(0), bound / 2 if is_pair(term) else bound)


def added_up(terms: Sequence[tuple[NDArray[np.intp], NDArray[np.float64], float]], count: int) -> NDArray[np.float64]:
    """Sum the scores of ``count`` leaves or nodes over the terms. Each term gives rows, their values, and a weight."""
    if not terms:
        return np.zeros(count)
    numbers, amounts, weights = zip(*terms, strict=True)
    weight_of_each = np.repeat(weights, [len(each) for each in numbers])
    scores = np.bincount(np.concatenate(numbers), np.concatenate(amounts) * weight_of_each, count)
    return scores.astype(np.float64, copy=False)


class TermCache:
    """Terms that were found before. Queries share words, and the most frequent words take the most time."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Mapping[int | None, TermPostings]] = {}
        self._leaves = 0

    def find(
        self, key: Hashable, find: Callable[[], Mapping[int | None, TermPostings]]
    ) -> Mapping[int | None, TermPostings]:
        """Return the term with this key by reading, or else what ``find`` returns."""
        if (by_reading := self._kept.get(key)) is None:
            by_reading = find()
            if (count := sum(len(each.rows) for each in by_reading.values())) <= _MOST_KEPT // 4:
                if self._leaves + count > _MOST_KEPT:
                    self._kept.clear()
                    self._leaves = 0
                self._kept[key] = by_reading
                self._leaves += count
        return by_reading


PARENT, SECTION, DOCUMENT = 1, 2, 4
SCALES = (PARENT, SECTION, DOCUMENT)  # the scales, each above the one before it


def starts_of(leaves: Iterable[tuple[int, Sequence[int]]]) -> NDArray[np.uint8]:
    """Return the array ``starts``, from each leaf's ordinal and the first ordinals of its ancestors, parents first."""
    starts = bytearray()
    for ordinal, ancestors in leaves:
        parent = ancestors[0] if ancestors else 0
        section = ancestors[1] if len(ancestors) > 1 else 0
        starts.append(PARENT * (ordinal == parent) + SECTION * (ordinal == section) + DOCUMENT * (ordinal == 0))
    return np.frombuffer(bytes(starts), dtype=np.uint8)


class NodeScores(NamedTuple):
    """The scores of all nodes of a scale for one query."""

    scores: NDArray[np.float64]  # the scores. 0 for nodes that are not counted
    firsts: NDArray[np.intp]  # the number of each node's first leaf
    lasts: NDArray[np.intp]  # the number of its last leaf


class Nodes:
    """The nodes of a corpus."""

    def __init__(self, parts: Sequence[Postings]) -> None:
        starts = np.concatenate([np.zeros(0, np.uint8), *(part.starts for part in parts)])
        lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
        scales = [_Scale.of((starts & scale) != 0, lengths) for scale in SCALES]
        # From one scale to the next, since larger nodes are fewer.
        above = (after._replace(numbers=after.numbers[before.firsts]) for before, after in pairwise(scales))
        self._scales = [scales[0], *above]

    def count(self, counting: Mask | None) -> list[int]:
        """Return the number of counted nodes of each scale, at least 1."""
        firsts = (scale.firsts for scale in self._scales)
        return [max(len(each) if counting is None else int(np.count_nonzero(counting[each])), 1) for each in firsts]

    def of_term(
        self, leaves: NDArray[np.intp], times: NDArray[Any], counts: Sequence[int], length: float, settings: BM25Settings
    ) -> list[NodeTerm]:
        """Return a term in each scale's nodes, from its counts in the leaves."""
        settings = BM25Settings(settings.k1, settings.b)
        terms = []
        numbers: NDArray[Any] = leaves
        for scale, nodes in zip(self._scales, counts, strict=True):
            numbers, times = _by_node(scale.numbers.take(numbers), times)
            norms = settings.norms(scale.lengths.take(numbers), length / nodes if length else 1.0)
            idf = settings.idf(nodes, len(numbers))
            terms.append(NodeTerm(numbers.astype(np.intp), settings.tf(times, norms), idf))
        return terms

    def score(self, terms: Sequence[tuple[float, Sequence[NodeTerm]]]) -> list[NodeScores]:
        """Return the scores of each scale's nodes, for a query's terms and the factor of each."""
        of_scales = []
        for number, scale in enumerate(self._scales):
            in_scale = [(in_nodes[number], factor) for factor, in_nodes in terms]
            amounts = [(term.numbers, term.tf, term.idf * factor) for term, factor in in_scale]
            of_scales.append(NodeScores(added_up(amounts, len(scale.firsts)), scale.firsts, scale.lasts))
        return of_scales


class _Scale(NamedTuple):
    numbers: NDArray[np.int32]  # the number of the node of each leaf, or of each node of the scale before
    firsts: NDArray[np.intp]  # the first leaf of each node
    lasts: NDArray[np.intp]  # its last leaf
    lengths: NDArray[np.int32]  # its length, in terms

    @classmethod
    def of(cls, begins: NDArray[np.bool_], lengths: NDArray[np.int64]) -> _Scale:
        """Return the nodes that start at the marked leaves, given each leaf's length."""
        firsts = np.flatnonzero(begins)
        numbers = np.cumsum(begins, dtype=np.int32) - np.int32(1)
        return cls(numbers, firsts, np.append(firsts[1:], len(begins)) - 1, _sums(lengths, firsts).astype(np.int32))


def _by_node(numbers: NDArray[np.int32], times: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return each node's number and sum of times, given the node of each leaf, in order."""
    begins = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    places = np.flatnonzero(begins)
    return numbers.take(places), _sums(times, places)


def _sums(numbers: NDArray[Any], firsts: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the sum of each run of numbers, given where the runs start."""
    # Most runs are short, and np.add.reduceat has a fixed cost for each.
    before = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=before[1:])
    return np.diff(before.take(firsts), append=before[-1])
