"""An inverted index that never changes: which leaves have a term, and how often, as arrays that can be mapped from a file.

``lengths``    the number of terms of each leaf
``words``      the terms in the order of their bytes, in UTF-8, one behind the other
``word_ends``  where each term ends in ``words``, behind a 0: one more than there are terms
``rows``       for each term in turn the leaves that have it, in ascending order
``row_ends``   where each term's leaves end in ``rows``, behind a 0
``counts``     for each of ``rows`` how often the leaf has the term

Lengths and counts are of the smallest unsigned type that holds the largest of them. Every term has a leaf.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REMEMBERED = 10_000  # terms
_LEAF = 32  # bits of a leaf's number, below its term's in one number for both


def build_postings(leaves: Iterable[Sequence[str]]) -> dict[str, NDArray[Any]]:
    """The postings of leaves given as their terms, numbered in their order; each is read once and not kept."""
    import numpy as np

    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    tokens, lengths = array("I"), array("I")
    for terms in leaves:
        tokens.extend(map(numbers.__getitem__, terms))
        lengths.append(len(terms))

    # A term's number becomes its place in the vocabulary; code points sort as their bytes in UTF-8 do.
    vocabulary = sorted(numbers)
    places = np.empty(len(vocabulary), dtype=np.uint64)
    places[[numbers[term] for term in vocabulary]] = np.arange(len(vocabulary))
    keys = places[np.frombuffer(tokens, dtype=np.uint32)]
    del numbers, tokens

    # Each token as one number, its term above its leaf; once sorted, a term's equal ones stand together.
    keys <<= np.uint64(_LEAF)
    length_of = np.frombuffer(lengths, dtype=np.uint32)
    keys |= np.repeat(np.arange(len(length_of), dtype=np.uint32), length_of)
    keys.sort()
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    counts = smallest(np.diff(firsts, append=len(keys)))
    keys = keys[firsts]
    del firsts
    rows = keys.astype(np.uint32)
    keys >>= np.uint64(_LEAF)
    frequencies = np.bincount(keys.view(np.int64), minlength=len(vocabulary))
    return assemble(length_of, [encode(term) for term in vocabulary], frequencies, rows, counts)


def assemble(
    lengths: NDArray[Any], words: Sequence[bytes], frequencies: NDArray[Any], rows: NDArray[Any], counts: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """The arrays of an index, with the places where terms and their leaves end."""
    import numpy as np

    return {
        "lengths": smallest(lengths),
        "words": np.frombuffer(b"".join(words), dtype=np.uint8),
        "word_ends": ends(np.fromiter(map(len, words), dtype=np.int64, count=len(words))),
        "rows": rows,
        "row_ends": ends(frequencies),
        "counts": smallest(counts),
    }


class Postings:
    """Looks terms up in the arrays of one index, without reading more of them than it must."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.lengths = arrays["lengths"]
        self.row_ends = arrays["row_ends"]
        self.rows = arrays["rows"]
        self.counts = arrays["counts"]
        # Single items of a memoryview are plain numbers, in half the time that an array's take.
        self._words = arrays["words"].data
        self._word_ends = arrays["word_ends"].data
        self._row_ends = arrays["row_ends"].data
        self.terms = len(self._word_ends) - 1
        self._places: dict[str, int | None] = {}

    def word(self, place: int) -> bytes:
        """The term at a place of the vocabulary."""
        return bytes(self._words[self._word_ends[place] : self._word_ends[place + 1]])

    def find(self, term: str) -> tuple[NDArray[np.uint32], NDArray[np.unsignedinteger[Any]]] | None:
        """The leaves that have a term, in ascending order, and how often each has it; None where no leaf has."""
        if (place := self._place(term)) is None:
            return None
        leaves = slice(self._row_ends[place], self._row_ends[place + 1])
        return self.rows[leaves], self.counts[leaves]

    def _place(self, term: str) -> int | None:
        """Where the vocabulary has a term; questions share their words, so what was found is remembered for a while."""
        try:
            return self._places[term]
        except KeyError:
            word = encode(term)
            at = bisect_left(range(self.terms), word, key=self.word)
            place = at if at < self.terms and self.word(at) == word else None
        if len(self._places) >= _REMEMBERED:
            self._places.clear()
        self._places[term] = place
        return place

    def frequencies(self, mask: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """How many leaves have each term; with a mask, how many of those that it marks."""
        import numpy as np

        ends = self.row_ends.astype(np.int64)
        if mask is None or not self.terms:
            return ends[1:] - ends[:-1]
        return np.add.reduceat(mask[self.rows], ends[:-1], dtype=np.int64)


def encode(term: str) -> bytes:
    """A term as it stands in the vocabulary; a user's function may give half a surrogate pair."""
    return term.encode("utf-8", "surrogatepass")


def ends(sizes: NDArray[Any]) -> NDArray[Any]:
    """Where pieces of these sizes end that stand one behind the other, behind a 0."""
    import numpy as np

    return smallest(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), at_least=np.uint32)


def smallest(numbers: NDArray[Any], *, at_least: type[np.unsignedinteger[Any]] | None = None) -> NDArray[Any]:
    """The same numbers, none negative, in the smallest unsigned type that holds them all."""
    import numpy as np

    largest = np.min_scalar_type(int(numbers.max(initial=0)))
    return numbers.astype(np.promote_types(largest, at_least or np.uint8))
