"""The library rank-bm25 in the place of leafspan's own BM25, for those who want its very code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafspan.errors import InvalidArgument, MissingExtra
from leafspan.lexical._postings import Postings
from leafspan.lexical._ranking import Corpus, Scores
from leafspan.lexical._variants import BM25Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RankBM25:
    """Like ``Corpus``, but the scores are those of rank-bm25's ``BM25Okapi``, made of the leaves that count.

    It holds every leaf as a dict and goes through all of them for each term of a query, and is made anew for other
    settings and for each query with ``counting``: right for small indexes, and for comparing.

    Raises:
        MissingExtra: if rank-bm25 is not installed.
    """

    def __init__(self, parts: Sequence[tuple[Mapping[str, NDArray[Any]], NDArray[np.bool_] | None]]) -> None:
        try:
            from rank_bm25 import BM25Okapi
        except ImportError as error:
            raise MissingExtra('rank-bm25 is not installed: pip install "leafspan[rank-bm25]"') from error
        self._make = BM25Okapi
        self._made: tuple[object, Any] = (None, None)
        self._corpus = Corpus(parts)
        self._parts = parts
        self.leaves = self._corpus.leaves

    def score(self, terms: Sequence[str], *, settings: BM25Settings, counting: NDArray[np.bool_] | None = None) -> Scores:
        """The scores of all leaves, as ``Corpus.score`` gives them; ``present`` and ``ideal`` are from there.

        Raises:
            InvalidArgument: if the variant is not okapi, k1 is 0, where it would divide 0 by 0, or ``counting`` is not a
                mask of as many leaves.
        """
        import numpy as np

        if settings.variant != "okapi":
            raise InvalidArgument(f"rank-bm25 is for the variant okapi, got {settings.variant!r}")
        if settings.k1 == 0:
            raise InvalidArgument("k1 must be > 0 for rank-bm25, got 0")
        ours = self._corpus.score(terms, settings=settings, counting=counting)
        if not ours.present.any():
            return ours  # rank-bm25 divides by the number of leaves and of terms
        counted = self._counted(counting)
        scores = np.zeros(self.leaves)
        library = self._library(settings, counted, keep=counting is None)
        with np.errstate(invalid="ignore"):  # it divides 0 by 0 for an empty leaf where b is 1
            scores[counted] = library.get_scores(list(terms))
        return replace(ours, scores=np.where(ours.present, scores, 0), marked=ours.present)

    def _counted(self, counting: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Which leaves count."""
        import numpy as np

        live = [np.ones(len(arrays["lengths"]), dtype=np.bool_) if mask is None else mask for arrays, mask in self._parts]
        counted: NDArray[np.bool_] = np.concatenate(live)
        return counted if counting is None else counted & counting

    def _library(self, settings: BM25Settings, counted: NDArray[np.bool_], *, keep: bool) -> Any:
        key = (settings.k1, settings.b, settings.epsilon)
        if keep and self._made[0] == key:
            return self._made[1]
        bags = [bag for arrays, _ in self._parts for bag in _bags(Postings(arrays))]
        counting = [bag for bag, counts in zip(bags, counted.tolist(), strict=True) if counts]
        made = self._make(counting, k1=settings.k1, b=settings.b, epsilon=settings.epsilon)
        if keep:
            self._made = key, made
        return made


def _bags(postings: Postings) -> list[list[str]]:
    """The terms of each leaf, each as often as it has it, in no order of theirs."""
    words = [postings.word(place).decode("utf-8", "surrogatepass") for place in range(postings.terms)]
    bags: list[list[str]] = [[] for _ in postings.lengths]
    place = 0
    for word, leaves in zip(words, postings.frequencies().tolist(), strict=True):
        found = slice(place, place + leaves)
        for row, count in zip(postings.rows[found].tolist(), postings.counts[found].tolist(), strict=True):
            bags[row] += [word] * count
        place += leaves
    return bags
