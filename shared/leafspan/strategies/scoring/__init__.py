"""Scores: scaling of a list's scores for fusion, probabilities, and decay."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from math import exp, fsum, log
from typing import Literal, TypeAlias


def min_max(scores: Sequence[float]) -> list[float]:
    """The scores in their order, scaled so that the lowest is 0 and the highest 1. Equal scores become 1."""
    return _scaled(scores, min(scores, default=0.0), max(scores, default=0.0), equal_scores=1.0)


def three_sigma(scores: Sequence[float]) -> list[float]:
    """The scores in their order, scaled so that their mean is 0.5, and three standard deviations from it are 0 and 1.

    Scores that are further away from the mean lie outside of [0, 1]: with n scores, between 0.5 - sqrt(n - 1) / 6 and
    0.5 + sqrt(n - 1) / 6. The deviation is the standard deviation of a population. Equal scores become 0.5. One outlier
    does not press the other scores together, as in ``min_max``.

    Source: distribution-based score fusion (Mazzeschi 2023).
    """
    # Rounding can give equal scores a deviation above 0 (such as three times 0.1), so they are handled first.
    if len(set(scores)) < 2:
        return [0.5] * len(scores)
    mean = sum(scores) / len(scores)
    deviation = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    return _scaled(scores, mean - 3 * deviation, mean + 3 * deviation, equal_scores=0.5)


def _scaled(scores: Sequence[float], low: float, high: float, *, equal_scores: float) -> list[float]:
    """The scores scaled so that ``low`` is 0 and ``high`` is 1."""
    return [(score - low) / (high - low) if low < high else equal_scores for score in scores]


# The probability that an index holds an answer to a question, which ``Hybrid`` divides among the leaves:
#
#     p(answer) = 1 / (1 + counted ** c / (exp(a) * (share + 0.01) ** b)),  counted = leaves / (1 + leaves / 10,000)
#
# If even the best parent lacks most of the question's rare words, or all parents have about as many (``share``), the index
# probably holds no answer. Among many leaves, some have a few of the words by chance; very many have many subjects, and so
# count less. The numbers were fitted by maximum likelihood on eleven sets in seven languages, and on a mixture of sets, in
# indexes of 13 to 90,876 leaves: ``benchmarks/answerable.py --fit``. ``benchmarks/calibration.py`` measures them.
ODDS = 20.0  # a
COVERAGE = 6.2  # b
SIZE = 1.4  # c
MANY = 10_000  # leaves
LEAST_SHARE = 0.01  # gives odds to a question without a known word
SHARPNESS = 9.0  # of the relevances of scores of any kind


def answer_probability(share: float, leaves: int) -> float:
    """The probability, in [0, 1], that one of the leaves holds an answer."""
    share_known = min(max(share, 0.0), 1.0) + LEAST_SHARE
    counted = 1 / (1 / max(leaves, 1) + 1 / MANY)
    return 1 / (1 + float(counted**SIZE / (exp(ODDS) * share_known**COVERAGE)))


def relevances(scores: Sequence[float]) -> list[float]:
    """Scores of any kind as shares of 1, computed from the scaled scores as leaves share a probability."""
    low, high = min(scores), max(scores)
    if low == high:
        return [1 / len(scores)] * len(scores)
    weights = [exp(SHARPNESS * (score - low) / (high - low)) for score in scores]
    total = fsum(weights)
    return [weight / total for weight in weights]


def scores_in_order(scores: Sequence[float | None]) -> list[float]:
    """The results' own scores, if each has a score and no score rises above the previous one; else 1 / rank, from 1."""
    own = [float(score) for score in scores if score is not None and math.isfinite(score)]
    if len(own) == len(scores) and all(a >= b for a, b in itertools.pairwise(own)):
        return own
    return [1 / rank for rank in range(1, len(scores) + 1)]


Shape: TypeAlias = Literal["exponential", "gaussian", "linear"]
SHAPES: tuple[Shape, ...] = ("exponential", "gaussian", "linear")


def decay_factor(distance: float, *, scale: float, decay: float, shape: Shape) -> float:
    """The factor for a distance, in [0, 1]: 1 at the distance 0, and ``decay`` at the distance ``scale``.

    With d for the distance, s for the scale and f for the decay, it is

    - exponential: f ** (d / s), so that each further scale multiplies it by f;
    - gaussian: f ** ((d / s) ** 2), which falls slowly first, then fast;
    - linear: max(0, 1 - (1 - f) * d / s), which is 0 from the distance s / (1 - f) on.
    """
    if shape == "linear":
        return max(0.0, 1.0 - (1.0 - decay) * distance / scale)
    scales = distance / scale
    return exp(log(decay) * (scales if shape == "exponential" else scales * scales))
