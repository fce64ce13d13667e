"""Soft matches: how well the words of a text match the words of a question, by vectors of single words.

For each word of the question, the most similar word of the text is used: late interaction, as in ColBERT, over vectors that
do not depend on context. So a word that is not in the text can match a synonym, or another form of the word.

Source: Khattab and Zaharia, ColBERT, SIGIR 2020, section 3.3 (the sum of maxima).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from leafspan.embedding import default_embedder, normalize
from leafspan.flows import NDArray, np
from leafspan.lexical import Analysis, Analyzer, LeafWords, find_plain_words, keeps_leaf_words, to_terms

_LEAST = 0.3  # least cosine of two related words
_BY_ONE_THREAD = 1 << 17  # multiplications; OpenBLAS wakes another thread from twice as many on
_DIMENSIONS = 64  # of 256: the model is trained so that the first ones suffice, and more hardly improve results


def words_of(question: str, analyzer: Analysis, idf: Mapping[str, float]) -> dict[str, float]:
    """A question's words in the language of the word vectors, without stop words, each with its idf."""
    if not keeps_leaf_words(analyzer):
        return {}
    if isinstance(analyzer, Analyzer):
        analyzer = analyzer.reading("en")
    words = list(dict.fromkeys(find_plain_words(question)))
    terms = to_terms(analyzer, words, are_queries=True)
    weights = (
        (word, max((idf.get(term, 0.0) for term in own), default=0.0)) for word, own in zip(words, terms, strict=True)
    )
    return {word: weight for word, weight in weights if weight > 0}


def soft_matches_of(words: Mapping[str, float], texts: Sequence[str]) -> list[float]:
    """The score of each text: see ``soft_matches``."""
    words_of_texts = [find_plain_words(text) for text in texts]
    vectors = WORD_VECTORS.of([word for each in words_of_texts for word in each])
    return soft_matches(words, vectors, list(map(len, words_of_texts)))


class SoftMatcher:
    """Compares questions with the leaves of a snapshot, by the words that it stores for each leaf."""

    def __init__(self, parts: Sequence[Mapping[str, Any]]) -> None:
        self._parts = [_Part(LeafWords(arrays)) for arrays in parts]
        self._starts = list(accumulate((part.leaves.count for part in self._parts), initial=0))

    def scores(self, words: Mapping[str, float], rows: Sequence[int]) -> list[float]:
        """The score of the leaf in each row: see ``soft_matches``."""
        scores = [0.0] * len(rows)
        for part, (start, end) in zip(self._parts, pairwise(self._starts), strict=True):
            places = [place for place, row in enumerate(rows) if start <= row < end]
            if places:
                numbers, counts = part.leaves.of([rows[place] - start for place in places])
                scores_of_part = soft_matches(words, part.vectors_of(numbers), counts)
                for place, score in zip(places, scores_of_part, strict=True):
                    scores[place] = score
        return scores

    def words(self, rows: NDArray[np.intp]) -> Iterator[str]:
        """The words of the leaves in these rows, which ascend."""
        for part, edges in zip(self._parts, pairwise(self._starts), strict=True):
            numbers, _ = part.leaves.of((rows[slice(*rows.searchsorted(edges))] - edges[0]).tolist())
            yield from (part.leaves.word(each).decode("utf-8", "surrogatepass") for each in np.unique(numbers).tolist())


class _Part:
    """The words of a segment's leaves, and cached vectors of those that questions have needed."""

    def __init__(self, leaves: LeafWords) -> None:
        self.leaves = leaves
        self._rows: WordRows | None = None

    def vectors_of(self, numbers: NDArray[Any]) -> NDArray[np.float32]:
        while True:
            cached = self._rows or self._none_of(WORD_VECTORS.rows_of([]))
            rows = cached.rows.take(numbers)
            if rows.min(initial=0) >= 0:
                return cached.vectors.take(rows, axis=0)
            missing = np.unique(numbers[rows < 0])
            words = [self.leaves.word(number).decode("utf-8", "surrogatepass") for number in missing.tolist()]
            made = WORD_VECTORS.rows_of(words)
            # A new table, since another thread may use the old one with a matrix that lacks the new rows.
            table = cached.rows.copy() if made.age == cached.age else self._none_of(made).rows
            table[missing] = made.rows
            self._rows = made._replace(rows=table)

    def _none_of(self, words: WordRows) -> WordRows:
        return words._replace(rows=np.full(self.leaves.words, -1, np.int32))


def soft_matches(question: Mapping[str, float], vectors: NDArray[np.float32], counts: Sequence[int]) -> list[float]:
    """Return a score in [0, 1] for each text: the weighted mean, over the query's words, of the best squared similarity."""
    scores = np.zeros(len(counts))
    filled = [number for number, count in enumerate(counts) if count]
    if not question or not filled:
        return scores.tolist()
    similarities = _products(WORD_VECTORS.of(list(question)), vectors)
    starts = list(accumulate(counts, initial=0))
    best = np.maximum.reduceat(similarities, [starts[number] for number in filled], axis=1)
    best[best < _LEAST] = 0.0
    best *= best
    weights = np.fromiter(question.values(), np.float64, len(question))
    scores[filled] = np.minimum(weights @ best / weights.sum(), 1.0)  # rounding of products
    return scores.tolist()


def _products(some: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the product of each row with each of the others, using one thread.

    For larger products, OpenBLAS wakes threads, which then look for work until the query is answered: that would double
    the processor time.
    """
    products = np.empty((len(some), len(others)), np.float32)
    at_once = max(1, _BY_ONE_THREAD // max(1, some.size))
    for start in range(0, len(others), at_once):
        block = slice(start, start + at_once)
        products[:, block] = some @ others[block].T
    return products


class WordRows(NamedTuple):
    rows: NDArray[np.intp]  # the row of each word in the matrix
    vectors: NDArray[np.float32]  # the matrix. A later matrix of the same age has the same vectors in these rows
    age: int  # how often vectors have been dropped to make room for others


class WordVectors:
    """Words' vectors, of length 1, each computed at its first use. Threads may share it."""

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._rows: dict[str, int] = {}
        self._vectors: NDArray[np.float32] | None = None  # with spare rows
        self._age = 0
        self.unlock()

    def unlock(self) -> None:
        """Replace the lock in a forked process, where the thread that held it does not exist."""
        self._lock = threading.Lock()

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        places = self.rows_of(words)
        return places.vectors.take(places.rows, axis=0)

    def rows_of(self, words: Sequence[str]) -> WordRows:
        with self._lock:
            try:
                rows = np.fromiter(map(self._rows.__getitem__, words), np.intp, len(words))
            except KeyError:
                self._add([word for word in dict.fromkeys(words) if word not in self._rows], words)
                rows = np.fromiter(map(self._rows.__getitem__, words), np.intp, len(words))
            vectors = np.empty((0, _DIMENSIONS), np.float32) if self._vectors is None else self._vectors
            return WordRows(rows, vectors, self._age)

    def _add(self, new: list[str], wanted: Sequence[str]) -> None:
        if len(self._rows) + len(new) > self._most:
            new = list(dict.fromkeys(wanted))
            self._age += 1  # before dropping: a process may be forked in between
            self._rows, self._vectors = {}, None
        made = normalize(default_embedder().documents(new)[:, :_DIMENSIONS])
        count = len(self._rows)
        if self._vectors is None or count + len(new) > len(self._vectors):
            # Double the size, so that adding a word takes constant time on average. Returned matrices stay unchanged.
            longer = np.zeros((2 * (count + len(new)), _DIMENSIONS), np.float32)
            if self._vectors is not None:
                longer[:count] = self._vectors[:count]
            self._vectors = longer
        self._vectors[count : count + len(new)] = made
        self._rows.update(zip(new, range(count, count + len(new)), strict=True))


WORD_VECTORS = WordVectors()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORD_VECTORS.unlock)
