"""Soft matches: how well the words of a text answer to those of a question, by the vectors of single words.

For each word of the question, the most similar word of the text counts: late interaction, as in ColBERT, over vectors that
do not depend on the context. A word that is not in the text is thus found in a synonym, or in another form of it.

Source: Khattab and Zaharia, ColBERT, SIGIR 2020, section 3.3 (the sum of maxima).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from leafspan.embedding._normalize import normalize
from leafspan.embedding._wordllama import default_embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEAST = 0.3  # the cosine from which on two words say something of each other
_MOST_WORDS = 20_000  # whose vectors are kept: about 5 MB
_DIMENSIONS = 64  # of 256: the model is trained so that the first ones suffice, and more find hardly more


def soft_matches(question: Mapping[str, float], texts: Sequence[Sequence[str]]) -> list[float]:
    """For each text, a score in [0, 1]: the weighted mean, over the question's words, of the best squared similarity.

    Args:
        question: The words of the question, each with its weight > 0.
        texts: The words of each text.
    """
    import numpy as np

    scores = np.zeros(len(texts))
    filled = [number for number, words in enumerate(texts) if words]
    if not question or not filled:
        return scores.tolist()
    rows, vectors = _VECTORS.of([*question, *chain.from_iterable(texts)])
    similarities = vectors.take(rows[: len(question)], axis=0) @ vectors.take(rows[len(question) :], axis=0).T
    starts = list(accumulate(map(len, texts), initial=0))
    best = np.maximum.reduceat(similarities, [starts[number] for number in filled], axis=1)
    best[best < _LEAST] = 0.0
    best *= best
    weights = np.fromiter(question.values(), np.float64, len(question))
    scores[filled] = weights @ best / weights.sum()
    return scores.tolist()


class _WordVectors:
    """The vectors of words, of length 1, each made when it is first asked for. Threads may share it."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._vectors: NDArray[np.float32] | None = None  # with room for more
        self._lock = threading.Lock()

    def of(self, words: Iterable[str]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The row of each word in a matrix, and the matrix."""
        import numpy as np

        words = list(words)
        with self._lock:
            try:
                rows = np.fromiter(map(self._rows.__getitem__, words), np.intp, len(words))
            except KeyError:
                self._add([word for word in dict.fromkeys(words) if word not in self._rows], words)
                rows = np.fromiter(map(self._rows.__getitem__, words), np.intp, len(words))
            assert self._vectors is not None
            return rows, self._vectors

    def _add(self, new: list[str], wanted: Sequence[str]) -> None:
        import numpy as np

        if len(self._rows) + len(new) > _MOST_WORDS:
            new = list(dict.fromkeys(wanted))
            self._rows, self._vectors = {}, None
        made = normalize(default_embedder().documents(new)[:, :_DIMENSIONS])
        count = len(self._rows)
        if self._vectors is None or count + len(new) > len(self._vectors):
            # Twice as long, so that adding words takes no longer the more there are. What was given away stays as it is.
            longer = np.zeros((2 * (count + len(new)), _DIMENSIONS), np.float32)
            if self._vectors is not None:
                longer[:count] = self._vectors[:count]
            self._vectors = longer
        self._vectors[count : count + len(new)] = made
        self._rows.update(zip(new, range(count, count + len(new)), strict=True))


_VECTORS = _WordVectors()
