"""An immutable inverted index: which leaves have a term, and how often, as arrays that can be mapped from a file.

- ``lengths``: the length of each leaf, in terms
- ``words``: the terms in the order of their bytes, in UTF-8, one after the other
- ``word_ends``: where each term ends in ``words``, after a 0: one more than the number of terms
- ``rows``: for each term in turn the leaves that have it, in ascending order
- ``row_ends``: where each term's leaves end in ``rows``, after a 0
- ``counts``: for each of ``rows`` how often the leaf has the term
- ``starts``: for each leaf which larger nodes start there, as ``starts_of`` says
- ``readings``: for each leaf how its words were read: a place in ``READINGS``, or 0 if all are read alike

Lengths and counts have the smallest unsigned type that holds the largest of them. Every term has a leaf.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, NamedTuple

from leafspan.flows import NDArray, np
from leafspan.lexical._tokens import HYPHENATED

_CACHED_TERMS = 10_000
_WORTH_A_LIST = 200  # terms for each lookup so far: an index that changes often makes no long list
_LEAF_BITS = 32  # a term's place and a leaf's number share 64 bits, with the leaf in the lower ones


class AnotherTerm(str):
    """A term for words of the query in another writing, which has terms of its own. It adds nothing to ``Scores.ideal``."""

    ALL_OF = "\0"  # joins terms that a leaf must have together; it has them as often as the rarest one


def length_of(terms: Sequence[str]) -> int:
    """Return the length of a leaf: the number of its terms, without those that are only another writing of others."""
    return sum(not term.startswith(HYPHENATED) for term in terms)


def build_postings(
    leaves: Iterable[Sequence[str]], starts: NDArray[np.uint8] | None = None, readings: NDArray[np.uint8] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index of leaves, which are numbered in order."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    tokens, all_terms, lengths = array("I"), array("I"), array("I")
    for terms in leaves:
        tokens.extend(map(numbers.__getitem__, terms))
        all_terms.append(len(terms))
        lengths.append(length_of(terms))

    # Terms were numbered as they came; now each gets its place in the vocabulary. Code points sort like bytes of UTF-8.
    vocabulary = sorted(numbers)
    places = np.empty(len(vocabulary), dtype=np.uint64)
    places[[numbers[term] for term in vocabulary]] = np.arange(len(vocabulary))
    keys = places[np.frombuffer(tokens, dtype=np.uint32)]
    del numbers, tokens

    # One number for each token, with its term in the upper bits and its leaf in the lower ones. Sorting puts the tokens of
    # one term in one leaf together.
    keys <<= np.uint64(_LEAF_BITS)
    keys |= np.repeat(np.arange(len(lengths), dtype=np.uint32), np.frombuffer(all_terms, dtype=np.uint32))
    keys.sort()
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    counts = in_smallest_type(np.diff(firsts, append=len(keys)))
    keys = keys[firsts]
    del firsts
    rows = keys.astype(np.uint32)
    keys >>= np.uint64(_LEAF_BITS)
    frequencies = np.bincount(keys.view(np.int64), minlength=len(vocabulary))
    if starts is None:
        starts = np.full(len(lengths), 0xFF, np.uint8)
    if readings is None:
        readings = np.zeros(len(lengths), np.uint8)
    words, length_of_leaf = [encode(term) for term in vocabulary], np.frombuffer(lengths, dtype=np.uint32)
    return assemble(length_of_leaf, starts, readings, words, frequencies, rows, counts)


def assemble(
    lengths: NDArray[Any],
    starts: NDArray[np.uint8],
    readings: NDArray[np.uint8],
    words: Sequence[bytes],
    frequencies: NDArray[Any],
    rows: NDArray[Any],
    counts: NDArray[Any],
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index, as listed at the top of this module."""
    return {
        "lengths": in_smallest_type(lengths),
        "starts": starts,
        "readings": readings,
        "words": np.frombuffer(b"".join(words), dtype=np.uint8),
        "word_ends": end_offsets(np.fromiter(map(len, words), dtype=np.int64, count=len(words))),
        "rows": rows,
        "row_ends": end_offsets(frequencies),
        "counts": in_smallest_type(counts),
    }


class Postings:
    """Looks up terms in one index's arrays, and reads no more than necessary."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.lengths = arrays["lengths"]
        self.row_ends = arrays["row_ends"]
        self.rows = arrays["rows"]
        self.counts = arrays["counts"]
        self.starts = arrays["starts"]
        self.readings = arrays["readings"]
        # Single items of a memoryview are plain numbers, and take half the time of an array's items.
        self._words = arrays["words"].data
        self._word_ends = arrays["word_ends"].data
        self._row_ends = arrays["row_ends"].data
        self.terms = len(self._word_ends) - 1
        self._places: dict[str, int | None] = {}
        self._lookups = 0

    def word(self, place: int) -> bytes:
        return bytes(self._words[self._word_ends[place] : self._word_ends[place + 1]])

    def find(self, term: str) -> tuple[NDArray[np.uint32], NDArray[np.unsignedinteger[Any]]] | None:
        """Return the leaves that have a term, in ascending order, and how often each has it, or None if no leaf has it."""
        if isinstance(term, AnotherTerm) and term.ALL_OF in term:
            return reduce(_in_both, map(self.find, term.split(term.ALL_OF)))
        if (place := self.place(term)) is None:
            return None
        leaves = slice(self._row_ends[place], self._row_ends[place + 1])
        return self.rows[leaves], self.counts[leaves]

    def place(self, term: str) -> int | None:
        """Return the term's place in the vocabulary, or None if it is missing. Cached, since queries share words."""
        if (place := self._places.get(term, -1)) != -1:
            return place
        word = encode(term)
        first, end = 0, self.terms
        self._lookups += 1
        if self._lookups * _WORTH_A_LIST > self.terms:
            head = int.from_bytes(word[:8].ljust(8, b"\0"))
            first, end = bisect_left(self._heads, head), bisect_right(self._heads, head)
        at = first + bisect_left(range(first, end), word, key=self.word)
        if len(self._places) >= _CACHED_TERMS:
            self._places.clear()
        place = self._places[term] = None if at == end or self.word(at) != word else at
        return place

    @cached_property
    def _heads(self) -> memoryview:
        """The first eight bytes of each term as a number, since few terms share them: most lookups read no term."""
        ends = np.asarray(self._word_ends, np.int64)
        starts, lengths = ends[:-1], np.diff(ends)
        words, heads = np.asarray(self._words), np.zeros((self.terms, 8), np.uint8)
        for place in range(8):
            rows = np.flatnonzero(lengths > place)
            heads[rows, place] = words[starts[rows] + place]
        return heads.view(">u8").ravel().astype(np.uint64).data

    def frequencies(self, mask: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the number of leaves that have each term. With a mask, count only the marked leaves."""
        row_ends = self.row_ends.astype(np.int64)
        if mask is None or not self.terms:
            return row_ends[1:] - row_ends[:-1]
        return np.add.reduceat(mask[np.asarray(self.rows)], row_ends[:-1], dtype=np.int64)


def encode(term: str) -> bytes:
    """Return the term in UTF-8, as in the vocabulary. Half a surrogate pair from a user's function is kept."""
    return term.encode("utf-8", "surrogatepass")


def end_offsets(sizes: NDArray[Any]) -> NDArray[Any]:
    """Return a 0, followed by the end of each of several consecutive pieces, given their sizes."""
    return in_smallest_type(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), at_least=np.uint32)


def in_smallest_type(numbers: NDArray[Any], *, at_least: type[np.unsignedinteger[Any]] | None = None) -> NDArray[Any]:
    """Return the same numbers (>= 0) in the smallest unsigned type that holds them all, not smaller than ``at_least``."""
    largest = np.min_scalar_type(int(numbers.max(initial=0)))
    return numbers.astype(np.promote_types(largest, at_least or np.uint8))


def merge_postings(parts: Sequence[tuple[Mapping[str, NDArray[Any]], NDArray[np.bool_] | None]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that ``build_postings`` gives for the kept leaves of all parts, part after part."""
    kept: list[_KeptLeaves] = []
    for arrays, mask in parts:
        kept.append(_keep(Postings(arrays), mask, first=sum(len(part.lengths) for part in kept)))
    vocabulary = sorted({word for part in kept for word in part.words})
    place_of = {word: place for place, word in enumerate(vocabulary)}
    frequencies = np.zeros(len(vocabulary), dtype=np.int64)
    places = [np.fromiter(map(place_of.__getitem__, part.words), np.int64, len(part.words)) for part in kept]
    for part, place in zip(kept, places, strict=True):
        frequencies[place] += part.frequencies

    # For each term, a part's leaves come after the leaves of earlier parts.
    next_free = end_offsets(frequencies)[:-1].astype(np.int64)
    rows = np.empty(int(frequencies.sum()), dtype=np.uint32)
    counts = np.empty(len(rows), dtype=np.result_type(np.uint8, *(part.counts.dtype for part in kept)))
    for part, place in zip(kept, places, strict=True):
        shift = next_free[place] - end_offsets(part.frequencies)[:-1]
        target = np.repeat(shift, part.frequencies) + np.arange(len(part.rows))
        rows[target], counts[target] = part.rows, part.counts
        next_free[place] += part.frequencies
    lengths = np.concatenate([np.empty(0, dtype=np.uint8), *(part.lengths for part in kept)])
    starts = np.concatenate([np.empty(0, dtype=np.uint8), *(part.starts for part in kept)])
    readings = np.concatenate([np.empty(0, dtype=np.uint8), *(part.readings for part in kept)])
    return assemble(lengths, starts, readings, vocabulary, frequencies, rows, counts)


class _KeptLeaves(NamedTuple):
    """The kept leaves of one part, under their new numbers."""

    lengths: NDArray[Any]  # length of each leaf in terms
    starts: NDArray[np.uint8]  # which larger nodes start at each leaf
    readings: NDArray[np.uint8]  # how the words of each leaf were read
    words: list[bytes]  # the terms that at least one kept leaf has
    frequencies: NDArray[np.int64]  # number of kept leaves that have each of these terms
    rows: NDArray[Any]  # new numbers of the leaves that have each term, term after term
    counts: NDArray[Any]  # how often the leaf has the term, for each of ``rows``


def _keep(part: Postings, mask: NDArray[np.bool_] | None, *, first: int) -> _KeptLeaves:
    """Return the part's leaves that the mask marks, numbered from ``first`` on."""
    frequencies = part.frequencies(mask)
    words = [part.word(place) for place in np.flatnonzero(frequencies).tolist()]
    if mask is None:
        rows = part.rows + np.uint32(first)
        return _KeptLeaves(part.lengths, part.starts, part.readings, words, frequencies, rows, part.counts)
    number = (np.cumsum(mask) + (first - 1)).astype(np.uint32)
    marked = mask[part.rows]
    rows, counts = number[part.rows[marked]], part.counts[marked]
    of_leaves = part.lengths[mask], part.starts[mask], part.readings[mask]
    return _KeptLeaves(*of_leaves, words, frequencies[frequencies > 0], rows, counts)


def _in_both(one: Any, other: Any) -> Any:
    """Return the leaves that two terms have, and how often the rarer one occurs in each."""
    if one is None or other is None:
        return None
    rows, places, other_places = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    return rows, np.minimum(one[1][places], other[1][other_places])
