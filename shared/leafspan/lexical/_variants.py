"""The formulas of BM25's variants: what a term is worth by how many leaves have it, and by how often a leaf has it.

A score is the sum, over the terms of a query, of ``idf * (tf(count, norm) + absent)``; leaves without a term have a
``tf`` of 0. N is the number of leaves, n that of those with the term, f how often a leaf has it, and
c = f / (1 - b + b * length / average length).

=========  ============================  ==================================================  ============
variant    idf                           tf                                                  absent
=========  ============================  ==================================================  ============
lucene     ln(1 + (N - n + .5)/(n + .5)) c / (k1 + c)                                        0
okapi      ln((N - n + .5)/(n + .5))     (k1 + 1) c / (k1 + c)                               0
bm25l      ln((N + 1)/(n + .5))          f (k1 + 1) (c + delta) / (k1 + c + delta)           0
bm25+      ln((N + 1)/n)                 (k1 + 1) c / (k1 + c)                               delta
=========  ============================  ==================================================  ============

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, section 3.4 (okapi;
lucene is what Apache Lucene has made of it since version 8: an idf that is never negative, and no k1 + 1, which changes
no order). Lv and Zhai, When Documents Are Very Long, BM25 Fails!, SIGIR 2011 (bm25l), and Lower-Bounding Term Frequency
Normalization, CIKM 2011 (bm25+).

The last three are those of the library rank-bm25 to the digit, which differs from the papers:

- okapi: where an idf would be negative, for a term in more than half of the leaves, it is ``epsilon`` times the mean idf
  of all terms instead, and this may still be negative where leaves are few. The paper leaves negative ones as they are.
- bm25l: the factor f is not in the paper.
- bm25+: the paper gives delta to leaves that have the term only. Here all get it, which changes no order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leafspan.checks import check_choice, check_number
from leafspan.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VARIANTS = ("lucene", "okapi", "bm25l", "bm25+")
_DELTA = {"bm25l": 0.5, "bm25+": 1.0}


@dataclass(frozen=True, slots=True)
class BM25Settings:
    """How BM25 scores. The defaults of ``k1`` and ``b`` are those of Anserini, which do best on leaves of a few sentences.

    ``k1`` >= 0: how much a term that repeats adds (0: nothing). ``b`` in [0, 1]: how much a long leaf has to make up for
    its length. ``delta`` >= 0, of ``"bm25l"`` (default 0.5) and ``"bm25+"`` (default 1) only: see the variants.
    ``epsilon`` >= 0, of ``"okapi"`` only: the share of the mean idf that a term gets whose own would be negative.

    Raises:
        InvalidArgument: if one is out of its range, or there is no such variant, or it has no ``delta``.
    """

    k1: float = 0.9
    b: float = 0.4
    variant: str = "lucene"
    delta: float | None = None
    epsilon: float = 0.25

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, VARIANTS)
        if self.delta is not None and self.variant not in _DELTA:
            raise InvalidArgument(f"delta is for the variants {', '.join(_DELTA)}, got {self.delta!r} for {self.variant}")
        for name in ("k1", "b", "delta", "epsilon"):
            number = getattr(self, name)
            if name == "delta" and number is None:
                continue
            check_number(name, number, at_least=0, at_most=1 if name == "b" else None)
            object.__setattr__(self, name, float(number))  # a whole number would overflow in the small types of counts

    @property
    def lower_bound(self) -> float:
        """``delta``, or its default for the variant; 0 where it has none."""
        return _DELTA.get(self.variant, 0.0) if self.delta is None else self.delta

    @property
    def absent(self) -> float:
        """What a leaf without a term has of its idf."""
        return self.lower_bound if self.variant == "bm25+" else 0.0

    def idf(self, leaves: int, frequency: int) -> float:
        """The weight of a term that this many of the leaves have; without okapi's floor for negative ones."""
        if self.variant == "lucene":
            return math.log(1 + (leaves - frequency + 0.5) / (frequency + 0.5))
        if self.variant == "okapi":
            return math.log(leaves - frequency + 0.5) - math.log(frequency + 0.5)
        if self.variant == "bm25l":
            return math.log(leaves + 1) - math.log(frequency + 0.5)
        return math.log((leaves + 1) / max(frequency, 1))  # beyond all bounds where no leaf has the term: as if one had

    def floor(self, leaves: int, frequencies: NDArray[Any]) -> float:
        """What stands for a negative idf in okapi; ``frequencies[n]`` is the number of terms that n leaves have, n > 0."""
        import numpy as np

        # By frequency rather than by term, so that the sum is the same in whatever order the terms come.
        there = np.flatnonzero(frequencies)
        idfs = np.log(leaves - there + 0.5) - np.log(there + 0.5)
        return self.epsilon * float(np.sum(idfs * frequencies[there])) / max(int(frequencies.sum()), 1)

    def norms(self, lengths: NDArray[Any], average: float) -> NDArray[np.float64]:
        """What stands for each leaf's length in ``tf``: 1 for one of average length, times k1 but in bm25l."""
        relative: NDArray[Any] = 1 - self.b + self.b * lengths / average
        return relative if self.variant == "bm25l" else self.k1 * relative

    def tf(self, counts: NDArray[Any], norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """A term's part of a score, by how often each leaf has it; ``norms``, an array of its own, may be written over."""
        import numpy as np

        if self.variant == "bm25l":
            relative: NDArray[np.float64] = np.divide(counts, norms, out=norms)
            relative += self.lower_bound
            relative /= self.k1 + relative
            relative *= counts * (self.k1 + 1)
            return relative
        norms += counts
        part: NDArray[np.float64] = np.divide(counts, norms, out=norms)
        if self.variant != "lucene":
            part *= self.k1 + 1
        return part

    def most(self, counts: Sequence[NDArray[Any]]) -> float:
        """A bound that no leaf's ``tf`` exceeds, where leaves have the term as often as this.

        1 in lucene and k1 + 1 in okapi and bm25+, which a leaf comes the closer to the more often it has the term. bm25l
        grows with the count, so there it is k1 + 1 for each time that one leaf has it; and that once, where none has.
        """
        if self.variant == "lucene":
            return 1.0
        times = max((int(part.max()) for part in counts), default=1) if self.variant == "bm25l" else 1
        return (self.k1 + 1) * times
