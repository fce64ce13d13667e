"""Scores: fusion of ranked lists, probabilities, and decay.

Fusion makes several ranked lists of the same things into one list.

A ranking is a list of (key, score), best first. Every function here returns one too, so that fusions can be nested. A key
is any hashable value. All functions of fusion follow these rules:

- A key counts once in a ranking, at its first place; later keys move up over a repetition.
- Results come best first. Equal scores keep the order in which the keys were first seen, ranking after ranking.
- ``weights`` has one number > 0 for each ranking; None means equal weights. Normalised weights sum to 1. None without
  normalising means a weight of 1 each. A ranking without results keeps its share. To switch a ranking off, leave it out.
- Scores are finite, and may be negative. A score of None becomes the lowest score of its ranking, or 0 if the ranking has
  no score at all.
- Sums are correctly rounded (``math.fsum``). So the order of the rankings changes no score, and scores that are equal on
  paper are equal here.

``tests/peers/test_fusion_peers.py`` has the calls that match other libraries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from math import exp, fsum, log
from typing import Literal, TypeAlias, TypeVar

from leafspan.checks import is_number, shown
from leafspan.errors import InvalidArgument

K = TypeVar("K", bound=Hashable)

EqualScores: TypeAlias = float | Literal["by_sign", "as_is"]
"""The scaled value of scores that are all equal.

A number: this number. ``"by_sign"``: 1 if they are > 0, otherwise 0. ``"as_is"``: the scores unchanged.
"""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[tuple[K, object]]],
    *,
    weights: Sequence[float] | None = None,
    normalize_weights: bool = True,
    rank_constant: float = 60,
    as_share: bool = False,
) -> list[tuple[K, float]]:
    """The keys fused by their ranks alone: rank r, counted from 1, adds weight / (``rank_constant`` + r).

    With normalised weights, scores are in (0, 1 / (rank_constant + 1)]. The scores in the rankings are ignored.

    Source: Cormack et al., SIGIR 2009.
    """
    if not is_number(rank_constant) or rank_constant < 0:
        raise InvalidArgument(f"rank_constant must be a number >= 0, got {shown(rank_constant)}")
    shares = _shares(weights, len(rankings), normalize_weights)
    terms: dict[K, list[float]] = {}
    for ranking, share in zip(rankings, shares, strict=True):
        for rank, key in enumerate(dict.fromkeys(key for key, _ in ranking), start=1):
            terms.setdefault(key, []).append(share / (rank_constant + rank))
    best = fsum(share / (rank_constant + 1) for share in shares) if as_share else 1.0
    return _best_first((key, fsum(parts) / best) for key, parts in terms.items())


def relative_score_fusion(
    rankings: Sequence[Sequence[tuple[K, float | None]]],
    *,
    weights: Sequence[float] | None = None,
    normalize_weights: bool = True,
    equal_scores: EqualScores = 1.0,
) -> list[tuple[K, float]]:
    """The keys fused by their scores, after each ranking's scores are scaled to [0, 1]: ``min_max``, then ``sum_fusion``.

    With normalised weights, scores are in [0, 1], and 1 means best in every ranking. The last key of a ranking gets 0 from
    it.
    """
    scaled = [min_max(ranking, equal_scores=equal_scores) for ranking in rankings]
    return sum_fusion(scaled, weights=weights, normalize_weights=normalize_weights)


def distribution_based_fusion(
    rankings: Sequence[Sequence[tuple[K, float | None]]],
    *,
    weights: Sequence[float] | None = None,
    normalize_weights: bool = True,
    equal_scores: EqualScores = 0.5,
) -> list[tuple[K, float]]:
    """The keys fused by how far their scores stand out in each ranking: ``three_sigma``, then ``sum_fusion``.

    Unlike in ``relative_score_fusion``, one outlier does not press the other scores together, the last key of a ranking
    still gets something from it, and scores may lie outside of [0, 1].

    Source: distribution-based score fusion (Mazzeschi 2023).
    """
    scaled = [three_sigma(ranking, equal_scores=equal_scores) for ranking in rankings]
    return sum_fusion(scaled, weights=weights, normalize_weights=normalize_weights)


def sum_fusion(
    rankings: Sequence[Sequence[tuple[K, float | None]]],
    *,
    weights: Sequence[float] | None = None,
    normalize_weights: bool = True,
) -> list[tuple[K, float]]:
    """Each key with the weighted sum of its scores, for rankings whose scores mean the same.

    Source: CombSUM (Fox and Shaw, TREC-2, 1994).
    """
    shares = _shares(weights, len(rankings), normalize_weights)
    return _best_first((key, fsum(parts)) for key, parts in _weighted(rankings, shares).items())


def maximum_fusion(
    rankings: Sequence[Sequence[tuple[K, float | None]]], *, weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """Each key with the best of its weighted scores, for rankings whose scores mean the same.

    Source: CombMAX (Fox and Shaw, TREC-2, 1994).
    """
    shares = _shares(weights, len(rankings), normalize=False)
    return _best_first((key, max(parts)) for key, parts in _weighted(rankings, shares).items())


def min_max(ranking: Sequence[tuple[K, float | None]], *, equal_scores: EqualScores = 1.0) -> list[tuple[K, float]]:
    """The ranking in its order, scaled so that its lowest score is 0 and its highest 1."""
    scores = _scores(ranking)
    return _scaled(scores, min(scores.values(), default=0.0), max(scores.values(), default=0.0), equal_scores)


def three_sigma(ranking: Sequence[tuple[K, float | None]], *, equal_scores: EqualScores = 0.5) -> list[tuple[K, float]]:
    """The ranking in its order, scaled so that its mean score is 0.5, and three standard deviations from it are 0 and 1.

    Scores that are further away from the mean lie outside of [0, 1]: with n scores, between 0.5 - sqrt(n - 1) / 6 and
    0.5 + sqrt(n - 1) / 6. The deviation is the standard deviation of a population.
    """
    scores = _scores(ranking)
    values = scores.values()
    # Rounding can give equal scores a deviation above 0 (such as three times 0.1), so they are handled first.
    if len(set(values)) < 2:
        return min_max(ranking, equal_scores=equal_scores)
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return _scaled(scores, mean - 3 * deviation, mean + 3 * deviation, equal_scores)


def _scaled(scores: dict[K, float], low: float, high: float, equal_scores: EqualScores) -> list[tuple[K, float]]:
    """The scores scaled so that ``low`` is 0 and ``high`` is 1."""
    if equal_scores not in ("by_sign", "as_is") and not is_number(equal_scores):
        raise InvalidArgument(f"equal_scores must be a number, 'by_sign' or 'as_is', got {shown(equal_scores)}")
    if low < high:
        return [(key, (score - low) / (high - low)) for key, score in scores.items()]
    if equal_scores == "as_is":
        return list(scores.items())
    if equal_scores == "by_sign":
        return [(key, float(high > 0)) for key in scores]
    return [(key, float(equal_scores)) for key in scores]


def _weighted(rankings: Sequence[Sequence[tuple[K, float | None]]], weights: Sequence[float]) -> dict[K, list[float]]:
    """Each key's scores times the weights of their rankings, in the order in which the keys were first seen."""
    terms: dict[K, list[float]] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for key, score in _scores(ranking).items():
            terms.setdefault(key, []).append(score * weight)
    return terms


def _scores(ranking: Sequence[tuple[K, float | None]]) -> dict[K, float]:
    """Each key with its first score, or with the lowest score of the ranking if that score is None."""
    first: dict[K, float | None] = {}
    for key, score in ranking:
        if score is not None and not is_number(score):
            raise InvalidArgument(f"scores must be finite numbers or None, got {shown(score)} for {key!r}")
        first.setdefault(key, score)
    lowest = min((float(score) for score in first.values() if score is not None), default=0.0)
    return {key: lowest if score is None else float(score) for key, score in first.items()}


def _shares(weights: Sequence[float] | None, rankings: int, normalize: bool) -> list[float]:
    """The weight of each ranking, checked, and divided by their sum if ``normalize`` is set."""
    if weights is None:
        weights = [1.0] * rankings
    if len(weights) != rankings:
        raise InvalidArgument(f"weights must be one number a ranking, got {len(weights)} for {rankings} rankings")
    for weight in weights:
        if not is_number(weight) or weight <= 0:
            raise InvalidArgument(f"weights must be numbers > 0, got {shown(weight)}")
    total = fsum(weights) if normalize else 1.0
    return [float(weight) / total for weight in weights]


def _best_first(scored: Iterable[tuple[K, float]]) -> list[tuple[K, float]]:
    return sorted(scored, key=lambda item: -item[1])


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
