"""Soft matches of leaves with a question: see ``leafspan.embedding``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from leafspan.embedding import WORD_VECTORS, soft_matches
from leafspan.lexical import Analysis, Analyzer, LeafWords, find_plain_words, keeps_leaf_words, to_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafspan.embedding import WordRows


def words_of(question: str, analyzer: Analysis, idf: Mapping[str, float]) -> dict[str, float]:
    """A question's words in the language of the word vectors, without stop words, each with its idf."""
    if not keeps_leaf_words(analyzer):
        return {}
    if isinstance(analyzer, Analyzer):
        analyzer = analyzer.reading("en")
    words = list(dict.fromkeys(find_plain_words(question)))
    terms = to_terms(analyzer, words, asked=True)
    weights = (
        (word, max((idf.get(term, 0.0) for term in own), default=0.0)) for word, own in zip(words, terms, strict=True)
    )
    return {word: weight for word, weight in weights if weight > 0}


def soft_matches_of(words: Mapping[str, float], texts: Sequence[str]) -> list[float]:
    """The score of each text: see ``soft_matches``."""
    found = [find_plain_words(text) for text in texts]
    vectors = WORD_VECTORS.of([word for each in found for word in each])
    return soft_matches(words, vectors, list(map(len, found)))


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
                found = soft_matches(words, part.vectors_of(numbers), counts)
                for place, score in zip(places, found, strict=True):
                    scores[place] = score
        return scores


class _Part:
    """The words of a segment's leaves, and cached vectors of those that questions have needed."""

    def __init__(self, leaves: LeafWords) -> None:
        self.leaves = leaves
        self._known: WordRows | None = None

    def vectors_of(self, numbers: NDArray[Any]) -> NDArray[np.float32]:
        """The vectors of words, by their numbers."""
        import numpy as np

        while True:
            known = self._known or self._none_of(WORD_VECTORS.rows_of([]))
            rows = known.rows.take(numbers)
            if rows.min(initial=0) >= 0:
                return known.vectors.take(rows, axis=0)
            missing = np.unique(numbers[rows < 0])
            words = [self.leaves.word(number).decode("utf-8", "surrogatepass") for number in missing.tolist()]
            made = WORD_VECTORS.rows_of(words)
            # A new table, since another thread may use the old one with a matrix that lacks the new rows.
            table = known.rows.copy() if made.age == known.age else self._none_of(made).rows
            table[missing] = made.rows
            self._known = made._replace(rows=table)

    def _none_of(self, words: WordRows) -> WordRows:
        import numpy as np

        return words._replace(rows=np.full(self.leaves.words, -1, np.int32))
