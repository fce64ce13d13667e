"""Computes scores with the library rank-bm25 instead of leafspan's own BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument, MissingExtra
from leafspan.flows import NDArray, np
from leafspan.lexical._postings import Postings
from leafspan.lexical._ranking import Corpus, QueryTerms, Scores
from leafspan.lexical._terms import BM25Settings


class RankBM25(Corpus):
    """Like ``Corpus``, but rank-bm25's ``BM25Okapi`` computes the scores. It is for small indexes and for comparisons.

    The library keeps a dict for each leaf, and reads all of them for each term of a query. Its index is built again for
    other settings, and for every query with ``counting``.
    """

    def __init__(self, parts: Sequence[tuple[Mapping[str, NDArray[Any]], NDArray[np.bool_] | None]]) -> None:
        try:
            from rank_bm25 import BM25Okapi
        except ImportError as error:
            raise MissingExtra.of("rank-bm25 is not installed", "rank-bm25") from error
        super().__init__(parts)
        self._library_class = BM25Okapi
        self._cached_key: object = None  # the settings that the libraries were built for
        self._cached_libraries: dict[int | None, Any] = {}

    def score(
        self,
        terms: QueryTerms,
        *,
        settings: BM25Settings,
        counting: NDArray[np.bool_] | None = None,
        own: int | None = None,
    ) -> Scores:
        """Return all leaves' scores in the form of ``Corpus.score``, which also computes ``present`` and ``ideal``."""
        if settings.variant != "okapi":
            raise InvalidArgument(f"rank-bm25 is for the variant okapi, got {shown(settings.variant)}")
        if settings.k1 == 0:
            raise InvalidArgument("k1 must be > 0 for rank-bm25, got 0")
        ours = super().score(terms, settings=settings, counting=counting, own=own)
        if not ours.present.any():
            return ours  # the library would divide by the number of leaves and of terms, which may be 0
        scores = np.zeros(self.leaves)
        bags = terms if isinstance(terms, Mapping) else {None: Counter(terms)}
        scales = {term.reading: term.scale for term in self._find_all(terms, settings, counting, own).terms}
        for reading, bag in bags.items():
            mask = self._mask_of(self._counted(counting), reading)
            group = np.ones(self.leaves, np.bool_) if mask is None else mask
            if bag and group.any():
                library = self._library(settings, group, reading, cache=counting is None)
                repeated = [term for term, times in bag.items() for _ in range(ceil(times))]
                with np.errstate(invalid="ignore"):  # the library divides 0 by 0 for an empty leaf if b is 1
                    scores[group] = scales[reading] * library.get_scores(repeated)
        return replace(ours, scores=np.where(ours.present, scores, 0), marked=ours.present)

    def _library(self, settings: BM25Settings, group: NDArray[np.bool_], reading: int | None, *, cache: bool) -> Any:
        """Return the library's index of the leaves with a reading, cached for the next query if ``cache`` is set."""
        key = (settings.k1, settings.b, settings.epsilon)
        if self._cached_key != key:
            self._cached_key, self._cached_libraries = key, {}
        if cache and reading in self._cached_libraries:
            return self._cached_libraries[reading]
        bags = [bag for postings in self.postings for bag in _bags(postings)]
        of_group = [bag for bag, is_in in zip(bags, group.tolist(), strict=True) if is_in]
        library = self._library_class(of_group, k1=settings.k1, b=settings.b, epsilon=settings.epsilon)
        if cache:
            self._cached_libraries[reading] = library
        return library


def _bags(postings: Postings) -> list[list[str]]:
    """Return each leaf's terms, each as often as the leaf has it, in no particular order."""
    words = [postings.word(place).decode("utf-8", "surrogatepass") for place in range(postings.terms)]
    bags: list[list[str]] = [[] for _ in postings.lengths]
    for word, (start, end) in zip(words, pairwise(postings.row_ends.tolist()), strict=True):
        for row, count in zip(postings.rows[start:end].tolist(), postings.counts[start:end].tolist(), strict=True):
            bags[row] += [word] * count
    return bags
