"""The words of each leaf, for comparing leaves with a query word by word. Postings store the inverse.

They are arrays beside the postings that can be mapped from a file:

- ``leaf_words``: for each leaf in turn the numbers of its words, each once, in the order of its text
- ``leaf_word_ends``: where each leaf's words end in ``leaf_words``, after a 0
- ``plain_words``: the words in the order of their numbers, in UTF-8, one after the other
- ``plain_word_ends``: where each word ends in ``plain_words``, after a 0

They are words of ``find_plain_words`` in the text only, not terms, since vectors of whole words are compared.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from leafspan.flows import NDArray, np
from leafspan.lexical._analysis import AUTO, Analysis, Analyzer, read_as
from leafspan.lexical._postings import Postings, encode, end_offsets, in_smallest_type
from leafspan.lexical._tokens import find_plain_words

_LANGUAGE = "english"  # the package has vectors of English words only


def keeps_leaf_words(analyzer: Analysis | None) -> bool:
    """Whether an index with this analyzer stores the words of leaves. Only leaves read as English have words."""
    return isinstance(analyzer, Analyzer) and analyzer.language in (_LANGUAGE, AUTO)


def compared_text(analyzer: Analysis, reading: int, text: str) -> str:
    """Return the part of a leaf's text that soft matches compare: the whole text, or "" if the reading is not English."""
    return text if keeps_leaf_words(read_as(analyzer, reading)) else ""


def build_leaf_words(texts: Iterable[str]) -> dict[str, NDArray[Any]]:
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    words, counts = array("I"), array("I")
    for text in texts:
        own = plain_words_of(text)
        words.extend(map(numbers.__getitem__, own))
        counts.append(len(own))
    return _assembled(np.frombuffer(words, np.uint32), np.frombuffer(counts, np.uint32), [encode(word) for word in numbers])


def plain_words_of(text: str) -> list[str]:
    """Return the words of a leaf with this text, each once."""
    return list(dict.fromkeys(find_plain_words(text)))


def merge_leaf_words(
    parts: Sequence[tuple[Mapping[str, NDArray[Any]], NDArray[np.bool_] | None]],
) -> dict[str, NDArray[Any]]:
    """Return the arrays for the kept leaves of all parts, part after part."""
    numbers: dict[bytes, int] = {}
    kept_words, kept_counts = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for arrays, mask in parts:
        leaves = LeafWords(arrays)
        ends = arrays["leaf_word_ends"].astype(np.int64)
        counts = ends[1:] - ends[:-1]
        words = np.asarray(arrays["leaf_words"])
        if mask is not None:
            words, counts = words[np.repeat(mask, counts)], counts[mask]
        used = np.flatnonzero(np.bincount(words, minlength=leaves.words))
        renumbered = np.zeros(leaves.words, np.uint32)
        renumbered[used] = [numbers.setdefault(leaves.word(number), len(numbers)) for number in used.tolist()]
        kept_words.append(renumbered[words])
        kept_counts.append(counts)
    return _assembled(np.concatenate(kept_words), np.concatenate(kept_counts), list(numbers))


class LeafWords:
    """Looks up leaves' words in one index's arrays, and reads no more than necessary."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._numbers = arrays["leaf_words"]
        self._ends = arrays["leaf_word_ends"]
        self._words = arrays["plain_words"].data
        self._word_ends = arrays["plain_word_ends"].data
        self.count = len(self._ends) - 1
        self.words = len(self._word_ends) - 1

    def of(self, leaves: Sequence[int]) -> tuple[NDArray[np.unsignedinteger[Any]], list[int]]:
        """Return the numbers of leaves' words, one leaf after the other, and each leaf's number of words."""
        rows = np.asarray(leaves, np.intp)
        starts, ends = self._ends[rows].astype(np.intp), self._ends[rows + 1].astype(np.intp)
        counts = ends - starts
        behind = np.cumsum(counts)
        places = np.arange(behind[-1] if len(behind) else 0) + np.repeat(starts - behind + counts, counts)
        return self._numbers[places], counts.tolist()

    def word(self, number: int) -> bytes:
        """Return the word with this number, in UTF-8."""
        return bytes(self._words[self._word_ends[number] : self._word_ends[number + 1]])


def _assembled(words: NDArray[Any], counts: NDArray[Any], vocabulary: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    return {
        "leaf_words": in_smallest_type(words),
        "leaf_word_ends": end_offsets(counts),
        "plain_words": np.frombuffer(b"".join(vocabulary), dtype=np.uint8),
        "plain_word_ends": end_offsets(np.fromiter(map(len, vocabulary), np.int64, len(vocabulary))),
    }


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
    return int(_mixed(np.array([(_hash(encode(term)) + count * _STEP) & _MASK], dtype=np.uint64))[0])


def _hash(word: bytes) -> int:
    return int.from_bytes(blake2b(word, digest_size=_BITS // 8).digest(), "little")


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(_FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
    return mixed ^ (mixed >> np.uint64(31))
