"""The formulas of BM25's variants: a term's weight depends on how many leaves have it, and on how often a leaf has it.

A score is the sum, over the terms of a query, of ``idf * (tf + absent)``, where ``tf`` is 0 for leaves without the term.
N is the number of leaves, n the number of leaves with the term, f how often a leaf has it, and
c = f / (1 - b + b * length / average length).

=========  ============================  ==================================================  ============
variant    idf                           tf                                                  absent
=========  ============================  ==================================================  ============
lucene     ln(1 + (N - n + .5)/(n + .5)) c / (k1 + c)                                        0
okapi      ln((N - n + .5)/(n + .5))     (k1 + 1) c / (k1 + c)                               0
bm25l      ln((N + 1)/(n + .5))          f (k1 + 1) (c + delta) / (k1 + c + delta)           0
bm25+      ln((N + 1)/n)                 (k1 + 1) c / (k1 + c)                               delta
=========  ============================  ==================================================  ============

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, section 3.4 (okapi).
Apache Lucene since version 8 (lucene): okapi with an idf that is never negative, and without the factor k1 + 1, which
changes no order. Lv and Zhai, When Documents Are Very Long, BM25 Fails!, SIGIR 2011 (bm25l), and Lower-Bounding Term
Frequency Normalization, CIKM 2011 (bm25+).

The last three variants equal the library rank-bm25 to the digit. The library differs from the papers:

- okapi: the idf of a term in more than half of the leaves would be negative. It is replaced by ``epsilon`` times the mean
  idf of all terms, which may still be negative if there are few leaves. The paper keeps negative values.
- bm25l: the factor f is not in the paper.
- bm25+: in the paper only leaves with the term get delta. Here all leaves get it, which changes no order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leafspan.checks import check_choice, check_number, shown
from leafspan.errors import InvalidArgument
from leafspan.flows import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

VARIANTS = ("lucene", "okapi", "bm25l", "bm25+")
_DELTA = {"bm25l": 0.5, "bm25+": 1.0}


@dataclass(frozen=True, slots=True)
class BM25Settings:
    """How BM25 scores. The defaults of ``k1`` and ``b`` are Anserini's, which do best on leaves of a few sentences.

    Args:
        k1: How much further occurrences of a term in a leaf add, >= 0. At 0 they add nothing. Default: 0.9.
        b: How much a long leaf is discounted for its length, in [0, 1]. At 0 it is not. Default: 0.4.
        variant: ``"lucene"``, ``"okapi"``, ``"bm25l"`` or ``"bm25+"``. Lucene's idf is never negative; bm25l and bm25+ are
            kinder to long leaves. Default: ``"lucene"``.
        delta: Constant that keeps long leaves from scoring too low, >= 0. Only for bm25l (default: 0.5) and bm25+
            (default: 1).
        epsilon: Share of the mean idf that replaces a negative idf, >= 0. Only for okapi. Default: 0.25.

    Raises:
        InvalidArgument: if an option is out of its range, there is no such variant, or the variant has no ``delta``.

    Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), section 3.4; Lv and Zhai, SIGIR 2011
    (bm25l) and CIKM 2011 (bm25+).
    """

    k1: float = 0.9
    b: float = 0.4
    variant: str = "lucene"
    delta: float | None = None
    epsilon: float = 0.25

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, VARIANTS)
        if self.delta is not None and self.variant not in _DELTA:
            raise InvalidArgument(
                f"delta is for the variants {', '.join(_DELTA)}, got {shown(self.delta)} for {self.variant}"
            )
        for name in ("k1", "b", "delta", "epsilon"):
            number = getattr(self, name)
            if name == "delta" and number is None:
                continue
            check_number(name, number, at_least=0, at_most=1 if name == "b" else None)
            object.__setattr__(self, name, float(number))  # an int would overflow in the small types of counts

    @property
    def lower_bound(self) -> float:
        """``delta``, or the variant's default, or 0 for variants without it."""
        return _DELTA.get(self.variant, 0.0) if self.delta is None else self.delta

    @property
    def absent(self) -> float:
        """The share of a term's idf that every leaf gets, even without the term: ``absent`` in the table."""
        return self.lower_bound if self.variant == "bm25+" else 0.0

    def idf(self, leaves: int, frequency: int) -> float:
        """Return the idf of a term that ``frequency`` of the leaves have, before ``floor`` replaces a negative one."""
        if self.variant == "lucene":
            return math.log(1 + (leaves - frequency + 0.5) / (frequency + 0.5))
        if self.variant == "okapi":
            return math.log(leaves - frequency + 0.5) - math.log(frequency + 0.5)
        if self.variant == "bm25l":
            return math.log(leaves + 1) - math.log(frequency + 0.5)
        return math.log((leaves + 1) / max(frequency, 1))  # infinite without leaves: treat it as one leaf

    def floor(self, leaves: int, frequencies: NDArray[Any]) -> float:
        """Return what replaces a negative idf in okapi. At index n > 0 is the number of terms that n leaves have."""
        # Summed by frequency rather than by term, so that the order of the terms changes no digit.
        in_use = np.flatnonzero(frequencies)
        idfs = np.log(leaves - in_use + 0.5) - np.log(in_use + 0.5)
        return self.epsilon * float(np.sum(idfs * frequencies[in_use])) / max(int(frequencies.sum()), 1)

    def norms(self, lengths: NDArray[Any], average: float) -> NDArray[np.float64]:
        """Return each leaf's length as ``tf`` needs it: 1 for a leaf of average length, and times k1 except in bm25l."""
        relative: NDArray[Any] = 1 - self.b + self.b * lengths / average
        return relative if self.variant == "bm25l" else self.k1 * relative

    def tf(self, counts: NDArray[Any], norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a term's ``tf`` in each leaf from its counts, > 0, and the leaves' ``norms``, which are overwritten."""
        if self.variant == "bm25l":
            tf: NDArray[np.float64] = np.divide(counts, norms, out=norms)
            tf += self.lower_bound
            tf /= self.k1 + tf
            tf *= counts * (self.k1 + 1)
            return tf
        norms += counts
        tf = np.divide(counts, norms, out=norms)
        if self.variant != "lucene":
            tf *= self.k1 + 1
        return tf

    def max_tf(self, counts: NDArray[Any]) -> float:
        """Return an upper bound of a term's ``tf``, from its counts in leaves.

        It is 1 in lucene, and k1 + 1 in okapi and bm25+: the more often a leaf has the term, the closer it gets. In
        bm25l ``tf`` grows with the count, so the bound is k1 + 1 times the largest count.
        """
        if self.variant == "lucene":
            return 1.0
        return (self.k1 + 1) * (int(counts.max(initial=1)) if self.variant == "bm25l" else 1)
