"""Turns the fused scores of a question's leaves into probabilities, which mean the same across questions.

Each leaf that was looked at is weighed against the others and against the case that no leaf holds the answer:

    p(leaf) = exp(d * fused(leaf)) / (sum of exp(d * fused) over all leaves + absence)
    absence = leaves ** c / (exp(a) * (share + 0.02) ** b)

``share`` is the best leaf's BM25 score as a share of the most that a leaf could score for the question: if even the best
match lacks most of the question's rare words, the index probably holds no answer. ``leaves`` is the number of searched
leaves: among many, some have a few of the words by chance. So the probabilities of one question add up to the probability
that the index holds an answer, and the order of the leaves stays the same. If several leaves hold the answer, they share
its probability: each gets the probability of being the one leaf. Vectors affect only ``fused``, whose scale does not
depend on the embedder, so one formula holds for all embedders.

The numbers were fitted by maximum likelihood (logistic regression; ``d`` by a softmax) on questions of eight sets in four
languages, in indexes of 13 to 32,032 leaves, with questions that the documents do not answer.
``python benchmarks/answerable.py --fit`` fits them again, and ``benchmarks/calibration.py`` prints how reliable they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, fsum

ODDS = 0.9  # a
COVERAGE = 4.95  # b
SIZE = 0.54  # c
SHARPNESS = 9.0  # d

_LEAST_SHARE = 0.02  # gives odds to a question without a known word
_LARGEST = 700.0  # exponent whose exp is a float


def absence_weight(share: float, leaves: int) -> float:
    """The weight of the case that no leaf holds an answer."""
    known = min(max(share, 0.0), 1.0) + _LEAST_SHARE
    return float(max(leaves, 1) ** SIZE / (exp(ODDS) * known**COVERAGE))


def total_weight(fused: Iterable[float], absence: float) -> float:
    """The denominator: the weights of all leaves, and the weight of the case that no leaf holds the answer."""
    return fsum([*[exp(SHARPNESS * score) for score in fused], absence])


def same_absence(total: float, absence: float, changed: Iterable[tuple[float, float]]) -> float:
    """The denominator after changes of fused scores that do not affect whether an answer exists.

    The probability that the index holds an answer stays the same, and the leaves share it by their new scores.
    """
    before = total - absence
    more = fsum(exp(SHARPNESS * new) - exp(SHARPNESS * old) for old, new in changed)
    return total * (before + more) / before if before > 0 else total + more


def probability(fused: float, total: float) -> float:
    """The probability that a leaf holds the answer, in [0, 1]."""
    # The total leaves out summaries, so a summary can score much more than the leaves.
    return min(1.0, exp(min(SHARPNESS * fused, _LARGEST)) / total)


def answer_probability(absence: float, total: float) -> float:
    """The probability that one of the leaves holds an answer, in [0, 1]."""
    return 1 - absence / total


def relevances(scores: Sequence[float]) -> list[float]:
    """Scores of any kind as shares of 1, computed from the scaled scores as leaves share a probability."""
    low, high = min(scores), max(scores)
    if low == high:
        return [1 / len(scores)] * len(scores)
    weights = [exp(SHARPNESS * (score - low) / (high - low)) for score in scores]
    total = fsum(weights)
    return [weight / total for weight in weights]
