"""Soft matches: how well a text's words match a query's words, by vectors of single words.

For each word of the query, the most similar word of the text is used: late interaction, as in ColBERT, over vectors that
do not depend on context. So a word that is not in the text can match a synonym, or another form of the word.

Source: Khattab and Zaharia, ColBERT, SIGIR 2020, section 3.3 (the sum of maxima).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from leafspan.embedding._named import default_embedder
from leafspan.embedding._vectors import normalize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEAST = 0.3  # least cosine of two related words
_BY_ONE_THREAD = 1 << 17  # multiplications; OpenBLAS wakes another thread from twice as many on
_DIMENSIONS = 64  # of 256: the model is trained so that the first ones suffice, and more hardly improve results


def soft_matches(question: Mapping[str, float], vectors: NDArray[np.float32], counts: Sequence[int]) -> list[float]:
    """Return a score in [0, 1] for each text: the weighted mean, over the query's words, of the best squared similarity."""
    import numpy as np

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
    scores[filled] = weights @ best / weights.sum()
    return scores.tolist()


def _products(some: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the product of each row with each of the others, using one thread.

    For larger products, OpenBLAS wakes threads, which then look for work until the query is answered: that would double
    the processor time.
    """
    import numpy as np

    products = np.empty((len(some), len(others)), np.float32)
    at_once = max(1, _BY_ONE_THREAD // max(1, some.size))
    for start in range(0, len(others), at_once):
        block = slice(start, start + at_once)
        products[:, block] = some @ others[block].T
    return products


class WordRows(NamedTuple):
    """The places of words' vectors."""

    rows: NDArray[np.intp]  # the row of each word in the matrix
    vectors: NDArray[np.float32]  # the matrix. A later matrix of the same age has the same vectors in these rows
    age: int  # how often vectors have been dropped to make room for others


class WordVectors:
    """Words' vectors, of length 1, each computed at its first use. Threads may share it."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._rows: dict[str, int] = {}
        self._vectors: NDArray[np.float32] | None = None  # with spare rows
        self._age = 0
        self.unlock()

    def unlock(self) -> None:
        """Replace the lock in a forked process, where the thread that held it does not exist."""
        self._lock = threading.Lock()

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return each word's vector, as a row."""
        found = self.rows_of(words)
        return found.vectors.take(found.rows, axis=0)

    def rows_of(self, words: Sequence[str]) -> WordRows:
        """Return the place of each word's vector."""
        import numpy as np

        with self._lock:
            try:
                rows = np.fromiter(map(self._rows.__getitem__, words), np.intp, len(words))
            except KeyError:
                self._add([word for word in dict.fromkeys(words) if word not in self._rows], words)
                rows = np.fromiter(map(self._rows.__getitem__, words), np.intp, len(words))
            vectors = np.empty((0, _DIMENSIONS), np.float32) if self._vectors is None else self._vectors
            return WordRows(rows, vectors, self._age)

    def _add(self, new: list[str], wanted: Sequence[str]) -> None:
        import numpy as np

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
