"""BM25 over any number of inverted indexes, as if they were one index of the counted leaves."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from leafspan.errors import InvalidArgument
from leafspan.flows import NDArray, np
from leafspan.lexical._postings import Postings, encode
from leafspan.lexical._terms import (
    BM25Settings,
    CountedLeaves,
    Group,
    Nodes,
    NodeScores,
    Term,
    TermCache,
    TermPostings,
    WeighedTerms,
    added_up,
    nowhere,
    scaled,
)

Mask: TypeAlias = "NDArray[np.bool_]"

_MOST_LENGTHS = 100_000  # lengths of leaves whose norms are kept
_MOST_NORMS = 16  # readings and settings whose norms are kept
QueryTerms = Sequence[str] | Mapping[int | None, Mapping[str, float]]
"""The terms of a query; or for each reading, the terms for leaves with this reading and their counts. None: all leaves."""

_GROUP = 64  # leaves at most; comparing the best of each group first finds the best of all


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of all leaves for one query."""

    # A score for each leaf, 0 for leaves that are not counted. A leaf with a term of the query may score 0 or less in
    # okapi, and a leaf without any may score above 0 in bm25+
    scores: NDArray[np.float64]
    # Mask of the counted leaves with a term of the query. None if these are exactly the leaves with a score above 0
    marked: Mask | None
    # Upper bound of the scores, >= 0: the sum, over the query's terms, of the idf times the highest possible ``tf +
    # absent``. A leaf that has each term very often comes close to it. A term without leaves is treated as the rarest
    # possible term, so that a leaf with all other terms still scores below ``ideal``. A negative idf (okapi) adds 0
    ideal: float
    leaves: int  # the number of counted leaves
    misses: bool = False  # whether no counted leaf has one of the terms

    @property
    def present(self) -> Mask:
        """The mask of the counted leaves with a term of the query."""
        return self.scores > 0 if self.marked is None else self.marked


class Corpus:
    """Scores the leaves of several inverted indexes together. Leaves are numbered from 0, part after part.

    Each query takes document frequencies, the number of leaves and their average length from the counted leaves. So scores
    equal, to the digit, the scores of a new index of these leaves, even after many additions and deletions. The arrays and
    masks must not change. After a change, make a new corpus, which costs almost no time.

    Leaves with different readings are scored as if each reading had an index of its own, then scaled, so that a leaf with
    all words of the query can reach the same score in each. So a document in another language changes the scores of no
    other leaf, except by the scale of all.
    """

    def __init__(self, parts: Sequence[tuple[Mapping[str, NDArray[Any]], Mask | None]]) -> None:
        self._parts: list[_Part] = []
        self.leaves = 0
        for arrays, live in parts:
            postings = Postings(arrays)
            leaves = len(postings.lengths)
            _check_mask(live, leaves)
            some_dead = live is not None and not live.all()
            place = slice(self.leaves, self.leaves + leaves)
            self._parts.append(_Part(postings, live if some_dead else None, place))
            self.leaves += leaves
        self._last_counted: tuple[Mask | None, CountedLeaves | None] = (None, None)
        self._all_live: CountedLeaves | None = None
        self._all_live = self._counted(None)
        self._longest = max((int(part.postings.lengths.max(initial=0)) for part in self._parts), default=0)
        self._kept_norms: dict[object, NDArray[np.float64]] = {}
        self._term_numbers: list[NDArray[np.intp]] | None = None
        self._nodes: Nodes | None = None
        self._term_cache = TermCache()

    @property
    def postings(self) -> list[Postings]:
        return [part.postings for part in self._parts]

    def readings(self, counting: Mask | None = None) -> tuple[int, ...]:
        """Return the readings of the counted leaves, most frequent first: see ``leafspan.lexical._postings``."""
        groups = self._counted(counting).groups
        return tuple(sorted(groups, key=lambda reading: -groups[reading].leaves))

    def score(
        self, terms: QueryTerms, *, settings: BM25Settings, counting: Mask | None = None, own: int | None = None
    ) -> Scores:
        """Return all leaves' scores, scaled to the scores of the query's ``own`` reading, or of the most frequent one."""
        return self._add_up(self._find_all(terms, settings, counting, own), settings)

    def score_with_nodes(
        self, terms: QueryTerms, *, settings: BM25Settings, counting: Mask | None = None, own: int | None = None
    ) -> tuple[Scores, list[NodeScores], dict[str, float]]:
        """Return the scores of all leaves, of the larger nodes, scale after scale, and each term's highest idf."""
        query_terms = self._find_all(terms, settings, counting, own)
        counted = query_terms.counted
        if self._nodes is None:
            self._nodes = Nodes(self.postings)
        in_nodes = []
        idf: dict[str, float] = {}
        for term in query_terms.terms:
            if len(term.postings.rows):
                group = counted.group_of(term.reading)
                if group.nodes is None:
                    group.nodes = self._nodes.count(self._mask_of(counted, term.reading))
                if term.postings.nodes is None:
                    length = group.average * group.leaves
                    term.postings.nodes = self._nodes.of_term(
                        term.postings.rows, term.postings.counts, group.nodes, length, settings
                    )
                in_nodes.append((term.times * term.scale, term.postings.nodes))
            idf[term.name] = max(idf.get(term.name, 0.0), term.idf)
        return self._add_up(query_terms, settings), self._nodes.score(in_nodes), idf

    def _mask_of(self, counted: CountedLeaves, reading: int | None) -> Mask | None:
        """Return one mask of the counted leaves with a reading, or None if these are all leaves."""
        if counted.are_alike(reading) and all(mask is None for mask in counted.masks):
            return None
        masks = []
        for part, mask in zip(self._parts, counted.masks, strict=True):
            of_part = np.ones(len(part.postings.lengths), np.bool_) if mask is None else mask
            masks.append(of_part if counted.are_alike(reading) else of_part & (part.postings.readings == reading))
        return np.concatenate(masks)

    def _find_all(self, terms: QueryTerms, settings: BM25Settings, counting: Mask | None, own: int | None) -> WeighedTerms:
        counted = self._counted(counting)
        bags: Mapping[int | None, Mapping[str, float]] = terms if isinstance(terms, Mapping) else {None: Counter(terms)}
        readings_of: defaultdict[str, list[int | None]] = defaultdict(list)
        for reading, bag in bags.items():
            for name in bag:
                readings_of[name].append(reading)
        weighed = []
        for name, readings in readings_of.items():
            by_reading = self._find(name, None in bags, counted, settings)
            for reading in readings:
                group = counted.group_of(reading)
                in_group = by_reading.get(None if counted.are_alike(reading) else reading) or nowhere(name, settings)
                idf = settings.idf(group.leaves, len(in_group.rows))
                if idf < 0:
                    if group.frequencies is None:
                        group.frequencies = self._terms_by_frequency(self._mask_of(counted, reading))
                    idf = settings.floor(group.leaves, group.frequencies)
                weighed.append(Term(name, reading, in_group, bags[reading][name], idf))
        return scaled(weighed, counted, own)

    def _add_up(self, query_terms: WeighedTerms, settings: BM25Settings) -> Scores:
        counted = query_terms.counted
        terms = [term for term in query_terms.terms if len(term.postings.rows)]
        scores = added_up([(term.postings.rows, term.postings.tf, term.weight) for term in terms], self.leaves)
        positive = settings.absent == 0 and all(term.weight > 0 for term in terms)
        present = None if positive else np.zeros(self.leaves, dtype=np.bool_)
        if settings.absent:
            of_reading: defaultdict[int | None, float] = defaultdict(float)
            for term in terms:
                of_reading[term.reading] += settings.absent * term.weight
            for reading, absent in of_reading.items():
                mask = self._mask_of(counted, reading)
                scores[slice(None) if mask is None else mask] += absent
        if present is not None:
            for term in terms:
                present[term.postings.rows] = True
        misses = len(terms) < len(query_terms.terms)
        return Scores(scores, present, query_terms.ideal, counted.every.leaves, misses)

    def has(self, term: str) -> bool:
        """Whether a leaf has a term; it need not be counted."""
        for part in self._parts:  # noqa: SIM110 (asked for each word of a question)
            if part.postings.place(term) is not None:
                return True
        return False

    def rows_with(self, term: str, counting: Mask) -> list[int]:
        """Return the counted leaves that have a term."""
        rows = [part.place.start + int(row) for part in self._parts for row in (part.postings.find(term) or [()])[0]]
        return [row for row in rows if counting[row]]

    def beginning(self, letters: str) -> set[str]:
        """Return the terms that begin with these letters, in lower case."""
        edges = encode(letters), encode(letters) + b"\xff"
        terms = set()
        for part in self.postings:
            first, end = (bisect_left(range(part.terms), each, key=part.word) for each in edges)
            terms |= {part.word(place).decode("utf-8", "surrogatepass") for place in range(first, end)}
        return terms

    def idf(
        self, terms: Iterable[str], reading: int | None, *, settings: BM25Settings, counting: Mask | None = None
    ) -> dict[str, float]:
        """Return the idf of each term among the leaves with a reading, at least 0."""
        counted = self._counted(counting)
        group, key = counted.group_of(reading), None if counted.are_alike(reading) else reading
        of_terms = {term: self._find(term, reading is None, counted, settings).get(key) for term in terms}
        counts = {term: len(of_term.rows) if of_term else 0 for term, of_term in of_terms.items()}
        return {term: max(settings.idf(max(group.leaves, 1), count), 0.0) for term, count in counts.items()}

    def frequencies(self, terms: Iterable[str], counting: Mask | None = None) -> tuple[dict[str, int], int]:
        """Return the number of leaves that have each term, and the number of all leaves."""
        counted = self._counted(counting)
        frequencies = {}
        for term in dict.fromkeys(terms):
            frequency = 0
            for part, mask in zip(self._parts, counted.masks, strict=True):
                if (posting := part.postings.find(term)) is not None:
                    frequency += len(posting[0]) if mask is None else int(np.count_nonzero(mask[posting[0]]))
            frequencies[term] = frequency
        return frequencies, counted.every.leaves

    def _find(
        self, term: str, alike: bool, counted: CountedLeaves, settings: BM25Settings
    ) -> Mapping[int | None, TermPostings]:
        """Return a term in the counted leaves of each reading that has it, under None if all are read alike."""
        look_up = partial(self._look_up, term, alike or len(counted.groups) == 1, counted, settings)
        return self._term_cache.find((term, alike, settings), look_up) if counted is self._all_live else look_up()

    def _look_up(
        self, term: str, alike: bool, counted: CountedLeaves, settings: BM25Settings
    ) -> Mapping[int | None, TermPostings]:
        leaves, all_counts, lengths, readings = [np.zeros(0, np.intp)], [np.zeros(0, np.uint8)], [np.zeros(0, np.uint8)], []
        for part, mask in zip(self._parts, counted.masks, strict=True):
            if (posting := part.postings.find(term)) is not None:
                rows, counts = posting[0].astype(np.intp), posting[1]  # numpy would convert any other type at each use
                if mask is not None:
                    kept = mask[rows]
                    rows, counts = rows[kept], counts[kept]
                leaves.append(rows + part.place.start)
                all_counts.append(counts)
                lengths.append(part.postings.lengths[rows])
                if not alike:
                    readings.append(part.postings.readings[rows])
        every, times, long = np.concatenate(leaves), np.concatenate(all_counts), np.concatenate(lengths)
        if not len(every):
            return {}
        parts: dict[int | None, Any] = {None: slice(None)}
        if not alike:
            read = np.concatenate(readings)
            parts = {reading: read == reading for reading in np.flatnonzero(np.bincount(read)).tolist()}
        by_reading = {}
        for reading, part in parts.items():
            counts = times[part]
            tf = settings.tf(counts, self._norms(long[part], counted, reading, settings))
            by_reading[reading] = TermPostings(every[part], counts, tf, settings.max_tf(counts) + settings.absent)
        return by_reading

    def _norms(
        self, lengths: NDArray[Any], counted: CountedLeaves, reading: int | None, settings: BM25Settings
    ) -> NDArray[np.float64]:
        """Return the norms of leaves with these lengths, as a new array. Norms for all live leaves are kept, by length."""
        average = counted.group_of(reading).average
        if counted is not self._all_live or self._longest > _MOST_LENGTHS:
            return settings.norms(lengths, average)
        key = (settings.k1, settings.b, settings.variant == "bm25l", average)
        if (norms := self._kept_norms.get(key)) is None:
            norms = settings.norms(np.arange(self._longest + 1), average)
            self._kept_norms = {**self._kept_norms, key: norms} if len(self._kept_norms) < _MOST_NORMS else {key: norms}
        return norms.take(lengths)

    def _terms_by_frequency(self, counted: Mask | None) -> NDArray[np.intp]:
        """Return, at index n > 0, the number of terms that n counted leaves have."""
        if self._term_numbers is None:
            self._term_numbers = _number_terms(self.postings)
        terms = 1 + max(int(numbers.max(initial=-1)) for numbers in self._term_numbers)
        frequency_of_term = np.zeros(terms, np.int64)
        for part, numbers in zip(self._parts, self._term_numbers, strict=True):
            frequency_of_term[numbers] += part.postings.frequencies(None if counted is None else counted[part.place])
        frequencies = np.bincount(frequency_of_term, minlength=1)
        frequencies[0] = 0  # terms without a counted leaf
        return frequencies

    def _counted(self, counting: Mask | None) -> CountedLeaves:
        """Return the live leaves that ``counting`` marks, or all live leaves."""
        if counting is None and self._all_live is not None:
            return self._all_live
        last, counted = self._last_counted  # read both at once, since a query in another thread may count others
        if last is counting and counted is not None:
            return counted
        _check_mask(counting, self.leaves)
        masks: list[Mask | None] = []
        leaves, terms = np.zeros(256, np.int64), np.zeros(256)
        for part in self._parts:
            mask = part.live
            if counting is not None:
                mask = counting[part.place] if mask is None else counting[part.place] & mask
            masks.append(mask)
            readings, lengths = part.postings.readings, part.postings.lengths
            if mask is not None:
                readings, lengths = readings[mask], lengths[mask]
            leaves += np.bincount(readings, minlength=256)
            terms += np.bincount(readings, lengths, 256)
        groups = {reading: Group(int(leaves[reading]), int(terms[reading])) for reading in np.flatnonzero(leaves).tolist()}
        counted = CountedLeaves(masks, groups, Group(int(leaves.sum()), int(terms.sum())))
        self._last_counted = (counting, counted)
        return counted


def best(scores: Scores, count: int, order: Callable[[NDArray[np.intp]], Any]) -> NDArray[np.intp]:
    """Return the best present leaves, best first. Equal ones are ordered by the number of ``order``, then by row."""
    if count <= 0:
        return np.empty(0, np.intp)
    ranked = scores.scores if scores.marked is None else np.where(scores.marked, scores.scores, -np.inf)
    least = score_reached_by(count, ranked)
    rows = np.flatnonzero(ranked >= least if least > 0 else scores.present & (ranked >= least))
    values = -ranked[rows]
    if len(rows) > count:
        are_near = values <= np.partition(values, count - 1)[count - 1]
        rows, values = rows[are_near], values[are_near]
    by_value = np.argsort(values, kind="stable")
    rows, values = rows[by_value], values[by_value]
    # Only for equal leaves, which are some.
    repeated = np.zeros(len(rows) + 1, np.bool_)
    np.equal(values[1:], values[:-1], out=repeated[1:-1])
    repeated = repeated[1:] | repeated[:-1]
    numbers = np.zeros(len(rows), np.intp)
    numbers[repeated] = order(rows[repeated])
    return rows[np.lexsort((rows, numbers, values))[:count]]


def score_reached_by(count: int, scores: NDArray[Any]) -> float:
    """Return a score that at least ``count`` leaves reach, and few more. These few are faster to sort than all leaves.

    Leaves are divided into groups, and the best score of each group is taken. At least one leaf in each of ``count``
    groups reaches the ``count``-th best of these scores. With few leaves, each is a group; with too few, negative infinity.
    """
    if len(scores) < count:
        return -np.inf
    size = min(_GROUP, len(scores) // (2 * max(count, 1)) or 1)
    groups = len(scores) // size
    best_of_groups = scores[: groups * size].reshape(size, groups).max(axis=0)
    place = len(best_of_groups) - count
    return float(np.partition(best_of_groups, place)[place])


class _Part(NamedTuple):
    postings: Postings
    live: Mask | None  # mask of its live leaves, None if all are live
    place: slice  # the numbers of its leaves in the corpus


def _number_terms(parts: Sequence[Postings]) -> list[NDArray[np.intp]]:
    """Number the terms of each part; a term has the same number in all parts."""
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
