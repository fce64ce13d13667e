"""Fusions of ranked lists of any keys with the options of other libraries. ``Ensemble`` is compared with them.

A ranking is a list of (key, score), best first, and so is a fusion of rankings.

- A key counts once in a ranking, at its first place; later keys move up over a repetition.
- Equal scores keep the order in which the keys were first seen, ranking after ranking.
- ``weights`` has one number > 0 for each ranking; None means equal weights. Normalised weights sum to 1. None without
  normalising means a weight of 1 each. A ranking without results keeps its share.
- A score of None becomes the lowest score of its ranking, or 0 if the ranking has no score at all.
- Sums are correctly rounded, so the order of the rankings changes no score.
- ``equal_scores`` is the scaled value of scores that are all equal: a number, ``"by_sign"`` for 1 if they are > 0 and
  otherwise 0, or ``"as_is"`` for the scores unchanged.
"""

from math import fsum

from leafspan.strategies import scoring


def reciprocal_rank_fusion(rankings, *, weights=None, normalize_weights=True, rank_constant=60, as_share=False):
    """By rank alone (Cormack et al., SIGIR 2009)."""
    shares = _shares(weights, rankings, normalize_weights)
    terms = {}
    for ranking, share in zip(rankings, shares, strict=True):
        for rank, key in enumerate(dict.fromkeys(key for key, _ in ranking), start=1):
            terms.setdefault(key, []).append(share / (rank_constant + rank))
    best = fsum(share / (rank_constant + 1) for share in shares) if as_share else 1.0
    return _best_first((key, fsum(parts) / best) for key, parts in terms.items())


def relative_score_fusion(rankings, *, weights=None, normalize_weights=True, equal_scores=1.0):
    scaled = [min_max(ranking, equal_scores=equal_scores) for ranking in rankings]
    return sum_fusion(scaled, weights=weights, normalize_weights=normalize_weights)


def distribution_based_fusion(rankings, *, weights=None, normalize_weights=True, equal_scores=0.5):
    """By how far scores stand out (Mazzeschi 2023)."""
    scaled = [three_sigma(ranking, equal_scores=equal_scores) for ranking in rankings]
    return sum_fusion(scaled, weights=weights, normalize_weights=normalize_weights)


def sum_fusion(rankings, *, weights=None, normalize_weights=True):
    """CombSUM (Fox and Shaw, TREC-2, 1994)."""
    weighted = _weighted(rankings, _shares(weights, rankings, normalize_weights))
    return _best_first((key, fsum(parts)) for key, parts in weighted.items())


def maximum_fusion(rankings, *, weights=None):
    """CombMAX (Fox and Shaw, TREC-2, 1994)."""
    weighted = _weighted(rankings, _shares(weights, rankings, normalize=False))
    return _best_first((key, max(parts)) for key, parts in weighted.items())


def min_max(ranking, *, equal_scores=1.0):
    return _scaled(scoring.min_max, ranking, equal_scores)


def three_sigma(ranking, *, equal_scores=0.5):
    return _scaled(scoring.three_sigma, ranking, equal_scores)


def _scaled(scale, ranking, equal_scores):
    scores = _scores(ranking)
    if len({*scores.values()}) > 1:
        return list(zip(scores, scale(list(scores.values())), strict=True))
    if equal_scores == "as_is":
        return list(scores.items())
    return [(key, float(score > 0) if equal_scores == "by_sign" else equal_scores) for key, score in scores.items()]


def _weighted(rankings, weights):
    """Each key's scores times the weights of their rankings, in the order in which the keys were first seen."""
    terms = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for key, score in _scores(ranking).items():
            terms.setdefault(key, []).append(score * weight)
    return terms


def _scores(ranking):
    first = {}
    for key, score in ranking:
        first.setdefault(key, score)
    lowest = min((score for score in first.values() if score is not None), default=0.0)
    return {key: lowest if score is None else score for key, score in first.items()}


def _shares(weights, rankings, normalize):
    weights = [1.0] * len(rankings) if weights is None else weights
    total = fsum(weights) if normalize else 1.0
    return [weight / total for weight in weights]


def _best_first(scored):
    return sorted(scored, key=lambda item: -item[1])
