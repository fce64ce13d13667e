"""From the fused scores of a question's leaves to probabilities, which mean the same across questions.

Each leaf that was looked at is weighed against the others and against the case that none holds the answer:

    p(leaf) = exp(a * fused(leaf)) / (sum of exp(a * fused) over all leaves + exp(b - c * share) + exp(d))

``share`` is the best leaf's BM25 score as a share of the most that a leaf could score for the question: where even the
best match lacks most of the question's rare words, the answer is likely not there at all. ``exp(d)`` is the doubt that
stays where no word is lacking. So the probabilities of one question add up to the probability that the index holds an
answer, and they leave the order of the leaves as it is. Of several leaves that hold the answer each gets its part: a
probability is that of being the one, not one among others. Vectors come in by ``fused`` alone, whose scale does not depend
on the embedder.

The four numbers were fitted by maximum likelihood (a softmax with a null class: multinomial logistic regression; of a
question with an answer, the likelihood of all leaves together that hold it) on questions of three sets, with as many
questions of other sets that the documents say nothing about. ``python benchmarks/calibration.py`` prints how reliable they
are on other questions, and with ``--fit`` fits them anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, fsum

SHARPNESS = 9.0  # a
ABSENCE = 17.1  # b
COVERAGE = 24.8  # c
DOUBT = 8.1  # d

_LARGEST = 700.0  # exponent of a float

EMBEDDER = "WordLlama(l2_supercat_256)"
"""Name of the embedder that the numbers were fitted with."""


def total_weight(fused: Iterable[float], share: float) -> float:
    """The denominator: the weights of all leaves, and the weight of the case that none holds the answer."""
    weights = [exp(SHARPNESS * score) for score in fused]
    weights.append(_absence_weight(share))
    return fsum(weights)


def same_absence(total: float, share: float, changed: Iterable[tuple[float, float]]) -> float:
    """The denominator when fused scores have changed that say nothing of whether there is an answer.

    The probability that the index holds an answer stays the same, and the leaves share it by their new scores.
    """
    before = total - _absence_weight(share)
    more = fsum(exp(SHARPNESS * new) - exp(SHARPNESS * old) for old, new in changed)
    return total * (before + more) / before if before > 0 else total + more


def probability(fused: float, total: float) -> float:
    """The probability that a leaf holds the answer, in [0, 1]."""
    # A summary, whose weight is not in the total, can score any number of times as much as the leaves.
    return min(1.0, exp(min(SHARPNESS * fused, _LARGEST)) / total)


def answer_probability(share: float, total: float) -> float:
    """The probability that one of the leaves holds an answer, in [0, 1]."""
    return 1 - _absence_weight(share) / total


def _absence_weight(share: float) -> float:
    """The weight of the case that no leaf holds the answer."""
    return exp(ABSENCE - COVERAGE * share) + exp(DOUBT)
