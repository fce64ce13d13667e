"""From the fused scores of a question's leaves to probabilities, which mean the same across questions.

The probability that the index holds an answer follows from two numbers:

    odds = exp(a) * (share + 0.02) ** b / leaves ** c

``share`` is the best leaf's BM25 score as a share of the most that a leaf could score for the question: where even the best
match lacks most of the question's rare words, the answer is likely not there. ``leaves`` is the number of leaves that are
searched: among many, some have a few of the words by chance. Neither depends on the embedder or on the language.

The leaves share that probability by their fused scores: p(leaf) = p(answer) * exp(d * fused(leaf)) / sum of exp(d * fused).
So the probabilities of one question add up to that of an answer, and leave the order of the leaves as it is. Of several
leaves that hold the answer each gets its part: a probability is that of being the one, not one among others. Vectors come
in by ``fused`` alone, whose scale does not depend on the embedder.

The numbers were fitted by maximum likelihood (logistic regression, and a softmax) on questions of eight sets in four
languages, in indexes of 13 to 18,628 leaves, with questions that the documents say nothing about.
``python benchmarks/calibration.py`` prints how reliable they are on other questions, and with ``--fit`` fits them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, fsum, log

ODDS = 13.7  # a
COVERAGE = 5.7  # b
SIZE = 0.74  # c
SHARPNESS = 9.0  # d

_LEAST_SHARE = 0.02  # so that a question without a known word has odds, too
_LARGEST = 700.0  # exponent of a float


def answer_probability(share: float, leaves: int) -> float:
    """The probability that one of so many leaves holds an answer, in [0, 1]."""
    logit = ODDS + COVERAGE * log(min(max(share, 0.0), 1.0) + _LEAST_SHARE) - SIZE * log(max(leaves, 1))
    return 1 / (1 + exp(-logit))


def total_weight(fused: Iterable[float]) -> float:
    """The weights of all leaves together."""
    return fsum(exp(SHARPNESS * score) for score in fused)


def probability(fused: float, total: float, answer: float) -> float:
    """The probability that a leaf holds the answer, in [0, 1], given that of an answer."""
    # A summary, whose weight is not in the total, can score any number of times as much as the leaves.
    return min(1.0, answer * exp(min(SHARPNESS * fused, _LARGEST)) / total)


def relevances(scores: Sequence[float]) -> list[float]:
    """Scores of any kind as shares of 1 that can be added up: as the leaves share a probability, by the scaled scores."""
    low, high = min(scores), max(scores)
    if low == high:
        return [1 / len(scores)] * len(scores)
    weights = [exp(SHARPNESS * (score - low) / (high - low)) for score in scores]
    total = fsum(weights)
    return [weight / total for weight in weights]
