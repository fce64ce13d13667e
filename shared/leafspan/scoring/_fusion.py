"""Fusion: ranked lists of the same things, found in several ways, made into one.

A ranking is a list of (key, score), best first. So is what every function here returns, so that fusions nest. Keys are
anything hashable. All functions agree on this:

- A key counts once a ranking, at its first place there; those after it move up.
- Best first; equal scores in the order in which the keys were first seen, over one ranking after the other.
- ``weights`` are one number > 0 a ranking, None for equal ones. Where they are normalised they sum to 1; None without
  normalising is 1 each. A ranking without results keeps its share. To switch one off, leave it out.
- Scores are finite, of either sign. None counts as the lowest score of its ranking, and as 0 if there is none at all.
- Sums are correctly rounded (``math.fsum``), so that the order of the rankings changes no score, and what ties on paper
  ties here.

What other libraries do, in these terms, for rankings in which no key comes twice:

=====================================================  ================================================================
LangChain ``EnsembleRetriever``                        ``reciprocal_rank_fusion(rankings)``
... with ``weights=w, c=c``                            ``reciprocal_rank_fusion(rankings, weights=w,
                                                       normalize_weights=False, rank_constant=c)``
LlamaIndex ``QueryFusionRetriever``,                   ``reciprocal_rank_fusion(rankings, normalize_weights=False,
``reciprocal_rerank`` (ignores weights)                rank_constant=59)``
... ``relative_score``, ``retriever_weights=w``        ``relative_score_fusion(rankings, weights=w,
                                                       equal_scores="by_sign")``
... ``dist_based_score``, ``retriever_weights=w``      ``distribution_based_fusion(rankings, weights=w,
                                                       equal_scores="by_sign")``
... either, ``num_queries=n``                          ``weights=w * n``, for the rankings of one query after another
... ``simple``                                         ``maximum_fusion(rankings)``
Haystack ``DocumentJoiner``, ``weights=w``,            ``reciprocal_rank_fusion(rankings, weights=w, as_share=True)``
``reciprocal_rank_fusion``
... ``merge``                                          ``sum_fusion(rankings, weights=w)``
... ``distribution_based_rank_fusion``                 ``maximum_fusion([three_sigma(r, equal_scores="as_is")
                                                       for r in rankings])``
... ``concatenate``                                    ``maximum_fusion(rankings)``
Chroma Cloud ``Rrf(weights=w, k=k, normalize=n)``      ``reciprocal_rank_fusion(rankings, weights=w,
                                                       normalize_weights=n, rank_constant=k - 1)``, with the sign turned
=====================================================  ================================================================

They count places from 0 or from 1: place r from 0 with rank_constant k is place r + 1 with rank_constant k - 1. Haystack
(``concatenate`` apart), and LlamaIndex where it does not fail, take 0 for a missing score: put it in to do as they do.
Chroma drops a record that is not in all its rankings, unless its ``Knn`` has a default; here it gets no share of those
that lack it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import fsum
from typing import Literal, TypeAlias, TypeVar

from leafspan.checks import is_number
from leafspan.errors import InvalidArgument

K = TypeVar("K", bound=Hashable)

EqualScores: TypeAlias = float | Literal["by_sign", "as_is"]
"""What scaling makes of scores that are all equal: a number, 1 if they are > 0 and else 0, or themselves."""


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[tuple[K, object]]],
    *,
    weights: Sequence[float] | None = None,
    normalize_weights: bool = True,
    rank_constant: float = 60,
    as_share: bool = False,
) -> list[tuple[K, float]]:
    """Fuse by places alone (Cormack et al., SIGIR 2009): place r, from 1, adds weight / (``rank_constant`` + r).

    Scores are in (0, 1 / (rank_constant + 1)] with normalised weights; ``as_share`` divides them by what a key gets that
    comes first in every ranking, so that this is 1. The scores of the rankings are not looked at, nor are they sorted by them.

    Raises:
        InvalidArgument: if there is not one weight > 0 for each ranking, or ``rank_constant`` is negative or not finite.
    """
    if not is_number(rank_constant) or rank_constant < 0:
        raise InvalidArgument(f"rank_constant must be a number >= 0, got {rank_constant!r}")
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
    """Fuse by scores, of which each ranking's are first brought to [0, 1]: see ``min_max``, then ``sum_fusion``.

    Scores are in [0, 1] with normalised weights: 1 is best in every ranking. The last of a ranking gets nothing from it.

    Raises:
        InvalidArgument: if there is not one weight > 0 for each ranking, a score is not finite, or ``equal_scores`` is
            not one of its values.
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
    """Fuse by how far scores stand out among those of their ranking: see ``three_sigma``, then ``sum_fusion``.

    Known as distribution-based score fusion (Mazzeschi 2023). Unlike ``relative_score_fusion``, one outlier does not
    press the rest together, and the last of a ranking still gets something.

    Raises:
        InvalidArgument: if there is not one weight > 0 for each ranking, a score is not finite, or ``equal_scores`` is
            not one of its values.
    """
    scaled = [three_sigma(ranking, equal_scores=equal_scores) for ranking in rankings]
    return sum_fusion(scaled, weights=weights, normalize_weights=normalize_weights)


def sum_fusion(
    rankings: Sequence[Sequence[tuple[K, float | None]]],
    *,
    weights: Sequence[float] | None = None,
    normalize_weights: bool = True,
) -> list[tuple[K, float]]:
    """Each key with the weighted sum of its scores as they are (CombSUM; Fox and Shaw, TREC-2, 1994).

    For rankings whose scores mean the same.

    Raises:
        InvalidArgument: if there is not one weight > 0 for each ranking, or a score is not finite.
    """
    shares = _shares(weights, len(rankings), normalize_weights)
    return _best_first((key, fsum(parts)) for key, parts in _weighted(rankings, shares).items())


def maximum_fusion(
    rankings: Sequence[Sequence[tuple[K, float | None]]], *, weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """Each key with the best of its scores (CombMAX; Fox and Shaw, TREC-2, 1994), each times its ranking's weight.

    For rankings whose scores mean the same. Weights are never normalised: None leaves the scores as they are.

    Raises:
        InvalidArgument: if there is not one weight > 0 for each ranking, or a score is not finite.
    """
    shares = _shares(weights, len(rankings), normalize=False)
    return _best_first((key, max(parts)) for key, parts in _weighted(rankings, shares).items())


def min_max(ranking: Sequence[tuple[K, float | None]], *, equal_scores: EqualScores = 1.0) -> list[tuple[K, float]]:
    """The ranking in its order, its lowest score brought to 0 and its highest to 1.

    Equal scores, and so a single one, still say that something was found: they become ``equal_scores``.

    Raises:
        InvalidArgument: if a score is not finite, or ``equal_scores`` is not one of its values.
    """
    scores = _scores(ranking)
    return _scaled(scores, min(scores.values(), default=0.0), max(scores.values(), default=0.0), equal_scores)


def three_sigma(ranking: Sequence[tuple[K, float | None]], *, equal_scores: EqualScores = 0.5) -> list[tuple[K, float]]:
    """The ranking in its order, its mean score brought to 0.5, three standard deviations below it to 0, above it to 1.

    Scores further out than that go beyond 0 and 1. Equal scores are the mean, and become ``equal_scores``. The standard
    deviation is that of the population.

    Raises:
        InvalidArgument: if a score is not finite, or ``equal_scores`` is not one of its values.
    """
    scores = _scores(ranking)
    values = scores.values()
    # Three times 0.1 has a mean and a deviation that are a little off: equal scores must not depend on them.
    if len(set(values)) < 2:
        return min_max(ranking, equal_scores=equal_scores)
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return _scaled(scores, mean - 3 * deviation, mean + 3 * deviation, equal_scores)


def _scaled(scores: dict[K, float], low: float, high: float, equal_scores: EqualScores) -> list[tuple[K, float]]:
    if equal_scores not in ("by_sign", "as_is") and not is_number(equal_scores):
        raise InvalidArgument(f"equal_scores must be a number, 'by_sign' or 'as_is', got {equal_scores!r}")
    if low < high:
        return [(key, (score - low) / (high - low)) for key, score in scores.items()]
    if equal_scores == "as_is":
        return list(scores.items())
    if equal_scores == "by_sign":
        return [(key, float(high > 0)) for key in scores]
    return [(key, float(equal_scores)) for key in scores]


def _weighted(rankings: Sequence[Sequence[tuple[K, float | None]]], weights: Sequence[float]) -> dict[K, list[float]]:
    """The scores of each key times their rankings' weights, in the order in which the keys were first seen."""
    terms: dict[K, list[float]] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for key, score in _scores(ranking).items():
            terms.setdefault(key, []).append(score * weight)
    return terms


def _scores(ranking: Sequence[tuple[K, float | None]]) -> dict[K, float]:
    """The score of each key where it first comes, with the lowest of all where it has none."""
    first: dict[K, float | None] = {}
    for key, score in ranking:
        if score is not None and not is_number(score):
            raise InvalidArgument(f"scores must be finite numbers or None, got {score!r} for {key!r}")
        first.setdefault(key, score)
    lowest = min((float(score) for score in first.values() if score is not None), default=0.0)
    return {key: lowest if score is None else float(score) for key, score in first.items()}


def _shares(weights: Sequence[float] | None, rankings: int, normalize: bool) -> list[float]:
    if weights is None:
        weights = [1.0] * rankings
    if len(weights) != rankings:
        raise InvalidArgument(f"weights must be one number a ranking, got {len(weights)} for {rankings} rankings")
    for weight in weights:
        if not is_number(weight) or weight <= 0:
            raise InvalidArgument(f"weights must be numbers > 0, got {weight!r}")
    total = fsum(weights) if normalize else 1.0
    return [float(weight) / total for weight in weights]


def _best_first(scored: Iterable[tuple[K, float]]) -> list[tuple[K, float]]:
    return sorted(scored, key=lambda item: -item[1])
