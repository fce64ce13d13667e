"""An immutable inverted index: which leaves have a term, and how often, as arrays that can be mapped from a file.

``lengths``    the length of each leaf, in terms ``words``      the terms in the order of their bytes, in UTF-8, one after
the other ``word_ends``  where each term ends in ``words``, after a 0: one more than the number of terms ``rows``       for
each term in turn the leaves that have it, in ascending order ``row_ends``   where each term's leaves end in ``rows``,
after a 0 ``counts``     for each of ``rows`` how often the leaf has the term ``starts``     for each leaf which larger
nodes start there: see ``leafspan.lexical._nodes`` ``readings``   for each leaf how its words were read: a place in
``READINGS``, or 0 where all are read alike

Lengths and counts have the smallest unsigned type that holds the largest of them. Every term has a leaf.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from leafspan.lexical._tokens import HYPHENATED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CACHED_TERMS = 10_000
_WORTH_A_LIST = 500  # terms asked for; an index that changes often makes no lists
_LEAF_BITS = 32  # a term's place and a leaf's number share 64 bits, with the leaf in the lower ones


def length_of(terms: Sequence[str]) -> int:
    """Return the length of a leaf: the number of its terms, without those that are only another writing of others."""
    return sum(not term.startswith(HYPHENATED) for term in terms)


def build_postings(
    leaves: Iterable[Sequence[str]],
    starts: NDArray[np.uint8] | None = None,
    readings: NDArray[np.uint8] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index of leaves, which are numbered in order."""
    import numpy as np

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
    import numpy as np

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
        self._places: dict[str, int] = {}
        self._asked = 0  # terms, by ``has``

    def word(self, place: int) -> bytes:
        """Return the term at a place of the vocabulary."""
        return bytes(self._words[self._word_ends[place] : self._word_ends[place + 1]])

    def has(self, term: str) -> bool:
        """Whether a leaf has a term."""
        self._asked += 1
        if self._asked > _WORTH_A_LIST and term.startswith(HYPHENATED):  # few terms are, and most questions ask for several
            return term in self._hyphenated
        return self._place(term) is not None

    @cached_property
    def _hyphenated(self) -> frozenset[str]:
        first = bisect_left(range(self.terms), encode(HYPHENATED), key=self.word)
        words = takewhile(lambda word: word.startswith(encode(HYPHENATED)), map(self.word, range(first, self.terms)))
        return frozenset(word.decode("utf-8", "surrogatepass") for word in words)

    def find(self, term: str) -> tuple[NDArray[np.uint32], NDArray[np.unsignedinteger[Any]]] | None:
        """Return the leaves that have a term, in ascending order, and how often each has it, or None if no leaf has it."""
        if (place := self._place(term)) is None:
            return None
        leaves = slice(self._row_ends[place], self._row_ends[place + 1])
        return self.rows[leaves], self.counts[leaves]

    def _place(self, term: str) -> int | None:
        """Return the term's place in the vocabulary, or None if it is missing. Cached, since queries share words."""
        if (known := self._places.get(term)) is not None:
            return known
        word = encode(term)
        start, end = 0, self.terms
        if self._asked > _WORTH_A_LIST:
            start = max(bisect_right(self._every_16th, word) - 1, 0) * 16
            end = min(start + 16, end)
        at = start + bisect_left(range(start, end), word, key=self.word)
        if at == self.terms or self.word(at) != word:
            return None
        if len(self._places) >= _CACHED_TERMS:
            self._places.clear()
        self._places[term] = at
        return at

    @cached_property
    def _every_16th(self) -> list[bytes]:
        """Some terms, since a list of them is searched faster than terms that are read one by one."""
        return [self.word(place) for place in range(0, self.terms, 16)]

    def frequencies(self, mask: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the number of leaves that have each term. With a mask, count only the marked leaves."""
        import numpy as np

        row_ends = self.row_ends.astype(np.int64)
        if mask is None or not self.terms:
            return row_ends[1:] - row_ends[:-1]
        return np.add.reduceat(mask[np.asarray(self.rows)], row_ends[:-1], dtype=np.int64)


def encode(term: str) -> bytes:
    """Return the term in UTF-8, as in the vocabulary. Half a surrogate pair from a user's function is kept."""
    return term.encode("utf-8", "surrogatepass")


def end_offsets(sizes: NDArray[Any]) -> NDArray[Any]:
    """Return a 0, followed by the end of each of several consecutive pieces, given their sizes."""
    import numpy as np

    return in_smallest_type(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), at_least=np.uint32)


def in_smallest_type(numbers: NDArray[Any], *, at_least: type[np.unsignedinteger[Any]] | None = None) -> NDArray[Any]:
    """Return the same numbers (>= 0) in the smallest unsigned type that holds them all, not smaller than ``at_least``."""
    import numpy as np

    largest = np.min_scalar_type(int(numbers.max(initial=0)))
    return numbers.astype(np.promote_types(largest, at_least or np.uint8))
