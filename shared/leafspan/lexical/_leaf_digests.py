"""Eight bytes that identify a leaf's terms, for comparing an index with its texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from leafspan.lexical._postings import Postings, encode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BITS = 64
_MASK = (1 << _BITS) - 1
# From the generator SplitMix64 (Steele et al., OOPSLA 2014), so that differences in terms and counts cannot cancel out.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_PORTION = 1 << 20  # postings at a time


def terms_digest(terms: Sequence[str]) -> int:
    """Return the digest of a leaf with these terms: the sum, modulo 2**64, of a number for each term and its count."""
    return sum(_of_term(term, count) for term, count in Counter(terms).items()) & _MASK


def leaf_digests(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
    """Return each leaf's digest. Digests take 8 bytes a leaf, and postings are read in portions."""
    import numpy as np

    postings = Postings(arrays)
    digests = np.zeros(len(postings.lengths), dtype=np.uint64)
    hashes = np.fromiter((_hash(postings.word(place)) for place in range(postings.terms)), np.uint64, postings.terms)
    for start in range(0, len(postings.rows), _PORTION):
        some = slice(start, start + _PORTION)
        places = np.arange(start, start + len(postings.rows[some]))
        terms = np.searchsorted(postings.row_ends, places, side="right") - 1
        mixed = _mixed(hashes[terms] + postings.counts[some].astype(np.uint64) * np.uint64(_STEP))
        np.add.at(digests, postings.rows[some], mixed)
    return digests


@lru_cache(maxsize=100_000)
def _of_term(term: str, count: int) -> int:
    import numpy as np

    return int(_mixed(np.array([(_hash(encode(term)) + count * _STEP) & _MASK], dtype=np.uint64))[0])


def _hash(word: bytes) -> int:
    return int.from_bytes(blake2b(word, digest_size=_BITS // 8).digest(), "little")


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each number."""
    import numpy as np

    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(_FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
    return mixed ^ (mixed >> np.uint64(31))
