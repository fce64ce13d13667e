"""BM25 over any number of inverted indexes, as if they were one index of the counted leaves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.errors import InvalidArgument
from leafspan.lexical._found_terms import FoundTerm, KnownTerms, added_up
from leafspan.lexical._nodes import Nodes, NodeScores
from leafspan.lexical._postings import Postings
from leafspan.lexical._variants import BM25Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

_MOST_LENGTHS = 100_000  # lengths of leaves whose norms are kept
QueryTerms = Sequence[str] | Mapping[int, Mapping[str, float]]
"""The terms of a query, or for each reading, the terms for leaves with this reading and their counts."""

_GROUP = 64  # leaves; comparing the best of each group first finds the best of all


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of all leaves for one query.

    Attributes:
        scores: A score for each leaf, 0 for leaves that are not counted. A leaf with a term of the query may score 0 or
            less in okapi, and a leaf without any may score above 0 in bm25+.
        marked: Mask of the counted leaves with a term of the query. None if these are exactly the leaves with a score
            above 0.
        ideal: Upper bound of the scores, >= 0: the sum, over the query's terms, of the idf times the highest possible ``tf
            + absent``. A leaf that has each term very often comes close to it. A term without leaves is treated as the
            rarest possible term, so that a leaf with all other terms still scores below ``ideal``. A negative idf (okapi)
            adds 0.
        leaves: The number of counted leaves.
    """

    scores: NDArray[np.float64]
    marked: Mask | None
    ideal: float
    leaves: int

    @property
    def present(self) -> Mask:
        """The mask of the counted leaves with a term of the query."""
        return self.scores > 0 if self.marked is None else self.marked


class Corpus:
    """Scores the leaves of several inverted indexes together. Leaves are numbered from 0, part after part.

    Each query takes document frequencies, the number of leaves and their average length from the counted leaves. So scores
    equal, to the digit, the scores of a new index of these leaves, even after many additions and deletions. The arrays and
    masks must not change. After a change, make a new corpus, which costs almost no time.

    Attributes:
        leaves: Number of leaves of all parts, including dead ones.

    Raises:
        InvalidArgument: if a mask is not a bool for each leaf of its part.
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
        self._all_live = self._counted_leaves(None)
        self._longest = max((int(part.postings.lengths.max(initial=0)) for part in self._parts), default=0)
        self._readings: tuple[int, ...] | None = None
        self._kept_norms: tuple[object, Any] = (None, None)  # with their settings
        self._term_numbers: list[NDArray[np.intp]] | None = None
        self._nodes: Nodes | None = None
        self._known_terms = KnownTerms()

    @property
    def postings(self) -> list[Postings]:
        """The index of each part."""
        return [part.postings for part in self._parts]

    def readings(self, counting: Mask | None = None) -> tuple[int, ...]:
        """Return the readings of the counted leaves: see ``leafspan.lexical._postings``.

        Raises:
            InvalidArgument: if ``counting`` is not a bool for each leaf.
        """
        import numpy as np

        _check_mask(counting, self.leaves)
        if counting is None and self._readings is not None:
            return self._readings
        found: set[int] = set()
        masks = (self._all_live if counting is None else self._counted_leaves(counting)).masks
        for part, mask in zip(self._parts, masks, strict=True):
            readings = part.postings.readings
            found.update(np.flatnonzero(np.bincount(readings if mask is None else readings[mask])).tolist())
        there = tuple(sorted(found))
        if counting is None:
            self._readings = there
        return there

    def score(self, terms: QueryTerms, *, settings: BM25Settings, counting: Mask | None = None) -> Scores:
        """Return all leaves' scores for a query.

        Raises:
            InvalidArgument: if ``counting`` is not a bool for each leaf.
        """
        return self._add_up(*self._find_all(terms, settings, counting), settings)

    def score_with_nodes(
        self, terms: QueryTerms, *, settings: BM25Settings, counting: Mask | None = None
    ) -> tuple[Scores, list[NodeScores], dict[str, float]]:
        """Return the scores of all leaves, of the larger nodes, scale after scale, and each term's idf among leaves.

        For larger nodes, see ``leafspan.lexical._nodes``.

        Raises:
            InvalidArgument: if ``counting`` is not a bool for each leaf.
        """
        known, counted = self._find_all(terms, settings, counting)
        if self._nodes is None:
            self._nodes = Nodes([part.postings for part in self._parts])
        if counted.nodes is None:
            counted.nodes = self._nodes.count(self._mask_of(counted))
        length = counted.average * counted.leaves
        in_nodes = []
        for term in known:
            found = term.found
            if len(found.leaves):
                if found.nodes is None:
                    found.nodes = self._nodes.of_term(
                        found.leaves, found.counts, found.kept, counted.nodes, length, settings
                    )
                in_nodes.append((term.times, found.nodes))
        idf = {term.name: term.weight / term.times for term in known}
        nodes = self._nodes.score(in_nodes, counted.nodes, settings)
        return self._add_up(known, counted, settings), nodes, idf

    def _mask_of(self, counted: _CountedLeaves) -> Mask | None:
        """Return one mask of the counted leaves, or None if all are counted."""
        import numpy as np

        if all(mask is None for mask in counted.masks):
            return None
        parts = zip(self._parts, counted.masks, strict=True)
        return np.concatenate(
            [np.ones(len(part.postings.lengths), np.bool_) if mask is None else mask for part, mask in parts]
        )

    def _find_all(
        self, terms: QueryTerms, settings: BM25Settings, counting: Mask | None
    ) -> tuple[list[_Term], _CountedLeaves]:
        """Return a query's terms, and the counted leaves."""
        _check_mask(counting, self.leaves)
        counted = self._all_live if counting is None else self._counted_leaves(counting)
        if not isinstance(terms, Mapping):
            terms = {0: Counter(terms)}
        found: defaultdict[tuple[str, float], list[int]] = defaultdict(list)
        for reading, bag in terms.items():
            for each in bag.items():
                found[each].append(reading)
        in_all = len(terms)
        return [
            self._find(*each, None if len(readings) == in_all else readings, counted, settings)
            for each, readings in found.items()
        ], counted

    def _add_up(self, query_terms: Sequence[_Term], counted: _CountedLeaves, settings: BM25Settings) -> Scores:
        """Sum the found terms to scores of all leaves."""
        import numpy as np

        known = [term for term in query_terms if len(term.found.leaves)]
        scores = added_up([(term.found.rows, term.found.tf, term.weight) for term in known], self.leaves)
        positive = settings.absent == 0 and all(term.weight > 0 for term in known)
        present = None if positive else np.zeros(self.leaves, dtype=np.bool_)
        if absent := settings.absent * sum(term.weight for term in known):
            for part, mask in zip(self._parts, counted.masks, strict=True):
                scores[part.place][slice(None) if mask is None else mask] += absent
        if present is not None:
            for term in known:
                present[term.found.rows] = True
        return Scores(scores, present, _ideal(query_terms), counted.leaves)

    def frequencies(self, terms: Iterable[str], counting: Mask | None = None) -> tuple[dict[str, int], int]:
        """Return the number of leaves that have each term, and the number of all leaves."""
        import numpy as np

        _check_mask(counting, self.leaves)
        counted = self._all_live if counting is None else self._counted_leaves(counting)
        frequencies = {}
        for term in dict.fromkeys(terms):
            frequency = 0
            for part, mask in zip(self._parts, counted.masks, strict=True):
                if (found := part.postings.find(term)) is not None:
                    frequency += len(found[0]) if mask is None else int(np.count_nonzero(mask[found[0]]))
            frequencies[term] = frequency
        return frequencies, counted.leaves

    def _find(
        self, term: str, times: float, readings: Sequence[int] | None, counted: _CountedLeaves, settings: BM25Settings
    ) -> _Term:
        """Find a term that the query has for leaves with these readings."""
        read_so = None if readings is None else tuple(readings)
        look_up = partial(self._look_up, term, read_so, counted, settings)
        found = self._known_terms.find((term, read_so, settings), look_up) if counted is self._all_live else look_up()
        idf = settings.idf(counted.leaves, len(found.leaves))  # over all languages: a rare name is rare in each
        if idf < 0:
            idf = self._floor(counted, settings)
        return _Term(term, found, times, times * idf, readings)

    def _look_up(
        self, term: str, readings: Sequence[int] | None, counted: _CountedLeaves, settings: BM25Settings
    ) -> FoundTerm:
        """Return the counted leaves that have a term, and the scores of those with the right reading."""
        import numpy as np

        leaves, all_counts, lengths, read = [np.zeros(0, np.intp)], [np.zeros(0, np.uint8)], [np.zeros(0, np.uint8)], []
        for part, mask in zip(self._parts, counted.masks, strict=True):
            if (found := part.postings.find(term)) is not None:
                rows, counts = found[0].astype(np.intp), found[1]  # numpy would convert any other type at each use
                if mask is not None:
                    kept = mask[rows]
                    rows, counts = rows[kept], counts[kept]
                leaves.append(rows + part.place.start)
                all_counts.append(counts)
                lengths.append(part.postings.lengths[rows])
                if readings is not None:
                    read.append(part.postings.readings[rows])
        every, times, long = np.concatenate(leaves), np.concatenate(all_counts), np.concatenate(lengths)
        bound = settings.max_tf([times] if len(times) else []) + settings.absent
        if readings is None:
            return FoundTerm(every, times, None, every, settings.tf(times, self._norms(long, counted, settings)), bound)
        is_one = np.zeros(256, bool)  # a table, since readings are bytes: isin takes six times as long
        is_one[[*readings]] = True
        there = is_one[np.concatenate(read)] if read else np.zeros(0, bool)
        tf = settings.tf(times[there], self._norms(long[there], counted, settings))
        return FoundTerm(every, times, there, every[there], tf, bound)

    def _norms(self, lengths: NDArray[Any], counted: _CountedLeaves, settings: BM25Settings) -> NDArray[np.float64]:
        """Return the norms of leaves with these lengths, as a new array.

        If all live leaves are counted, the norms of all lengths are kept for the next query, which are fewer than leaves.
        """
        import numpy as np

        if counted is not self._all_live or self._longest > _MOST_LENGTHS:
            return settings.norms(lengths, counted.average)
        key = (settings.k1, settings.b, settings.variant == "bm25l")
        kept_key, norms = self._kept_norms  # read both at once, since a query in another thread may have other settings
        if kept_key != key:
            norms = settings.norms(np.arange(self._longest + 1), counted.average)
            self._kept_norms = key, norms
        return norms.take(lengths)  # type: ignore[no-any-return]

    def _floor(self, counted: _CountedLeaves, settings: BM25Settings) -> float:
        """Return the value that replaces a negative idf in okapi."""
        if counted.frequencies is None:
            counted.frequencies = self._terms_by_frequency(counted)
        return settings.floor(counted.leaves, counted.frequencies)

    def _terms_by_frequency(self, counted: _CountedLeaves) -> NDArray[np.intp]:
        """Return, at index n > 0, the number of terms that n counted leaves have."""
        import numpy as np

        if self._term_numbers is None:
            self._term_numbers = _number_terms([part.postings for part in self._parts])
        terms = 1 + max(int(numbers.max(initial=-1)) for numbers in self._term_numbers)
        frequency_of_term = np.zeros(terms, np.int64)
        for part, numbers, mask in zip(self._parts, self._term_numbers, counted.masks, strict=True):
            frequency_of_term[numbers] += part.postings.frequencies(mask)
        frequencies = np.bincount(frequency_of_term, minlength=1)
        frequencies[0] = 0  # terms without a counted leaf
        return frequencies

    def _counted_leaves(self, counting: Mask | None) -> _CountedLeaves:
        """Return the live leaves that ``counting`` marks, or all live leaves."""
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
        return _CountedLeaves(masks, leaves, terms / leaves if terms else 1.0)


def best(scores: Scores, count: int, order: Callable[[Sequence[int]], Sequence[Any]]) -> list[int]:
    """Return the best present leaves, best first."""
    import numpy as np

    if count <= 0:
        return []
    ranked = scores.scores if scores.marked is None else np.where(scores.marked, scores.scores, -np.inf)
    least = score_reached_by(count, ranked)
    rows = np.flatnonzero(ranked >= least if least > 0 else scores.present & (ranked >= least))
    tied: list[int] = []
    if len(rows) > count:
        last = np.partition(ranked[rows], len(rows) - count)[len(rows) - count]
        tied = rows[ranked[rows] == last].tolist()
        rows = rows[ranked[rows] > last]
    rows = rows[np.argsort(-ranked[rows], kind="stable")]
    values = ranked[rows]
    repeated = np.zeros(len(rows) + 1, np.bool_)
    np.equal(values[1:], values[:-1], out=repeated[1:-1])
    # Compute keys only for equal scores, which are few, and for all of these at once.
    to_order = [*rows[repeated[1:] | repeated[:-1]].tolist(), *(tied if len(tied) > 1 else ())]
    keys = dict(zip(to_order, order(to_order), strict=True)) if to_order else {}
    above: list[int] = rows.tolist()
    if keys:
        pairs = zip((-values).tolist(), map(keys.get, above), above, strict=True)
        above = [row for _, _, row in sorted(pairs)]  # only compares keys of equal scores, which all exist
    return above + (nsmallest(count - len(above), tied, key=keys.__getitem__) if len(tied) > 1 else tied)


def score_reached_by(count: int, scores: NDArray[Any]) -> float:
    """Return a score that at least ``count`` leaves reach, and few more. These few are faster to sort than all leaves.

    Leaves are divided into groups, and the best score of each group is taken. At least one leaf in each of ``count``
    groups reaches the ``count``-th best of these scores. With too few groups, it is the ``count``-th best of all scores;
    with too few leaves, negative infinity.
    """
    import numpy as np

    if len(scores) < count:
        return -np.inf
    groups = len(scores) // _GROUP
    best_of_groups = scores if groups < count else scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    place = len(best_of_groups) - count
    return float(np.partition(best_of_groups, place)[place])


class _Part(NamedTuple):
    """One of the inverted indexes.

    Attributes:
        postings: Its postings.
        live: Mask of its live leaves, None if all are live.
        place: The numbers of its leaves in the corpus.
    """

    postings: Postings
    live: Mask | None
    place: slice


@dataclass(slots=True)
class _CountedLeaves:
    """The counted leaves of a query.

    Attributes:
        masks: Mask of these leaves for each part, None if all leaves of the part are counted.
        leaves: Their number.
        average: Their average length, in terms.
        frequencies: At index n > 0, the number of terms that n of them have. None until it is needed.
        nodes: The number of larger nodes of each scale. None until it is needed.
    """

    masks: list[Mask | None]
    leaves: int
    average: float
    frequencies: NDArray[np.intp] | None = None
    nodes: list[int] | None = None


class _Term(NamedTuple):
    """A term of the query.

    Attributes:
        name: The term.
        found: The leaves that have it.
        times: Its count in the query.
        weight: Its idf, times ``times``.
        readings: The readings of the query that have it. None: all.
    """

    name: str
    found: FoundTerm
    times: float
    weight: float
    readings: Sequence[int] | None


def _ideal(terms: Sequence[_Term]) -> float:
    """Return the upper bound of scores. A leaf has one reading, and no terms of the query's other readings."""
    shared = [term for term in terms if term.readings is None]
    of_readings = [
        [term for term in terms if term.readings is not None and reading in term.readings]
        for reading in sorted({reading for term in terms for reading in term.readings or ()})
    ]
    return max(sum(max(term.weight, 0.0) * term.found.bound for term in shared + own) for own in of_readings or [[]])


def _number_terms(parts: Sequence[Postings]) -> list[NDArray[np.intp]]:
    """Number the terms of each part; a term has the same number in all parts."""
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
