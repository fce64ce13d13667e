"""Lists of results, of several strategies or for several phrasings, fused into one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal, TypeAlias, TypeVar, get_args

from leafspan.fusion import maximum_fusion, min_max, reciprocal_rank_fusion, sum_fusion, three_sigma
from leafspan.trace import Fused, Part, Trace
from leafspan.uniting import unite
from leafspan.values import Found

Fusion: TypeAlias = Literal["reciprocal rank", "relative score", "distribution based", "maximum"]
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
"""What each does is told at the functions of leafspan.fusion that are named after them."""

K = TypeVar("K", bound=Hashable)
_Shares: TypeAlias = list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """What ``source`` found, best first. ``weight``: how much it counts, > 0."""

    source: str
    found: Sequence[Found]
    weight: float = 1.0


def fuse(lists: Sequence[Ranked], *, fusion: Fusion, constant: float = 60, notes: Sequence[str] = ()) -> list[Found]:
    """One list of what any of them found: a leaf or longer run of leaves once, with what each list gave for it.

    Weights are normalised, except for ``"maximum"``, which takes them as they are. The same run is known by its id; runs
    that overlap without being the same are made one afterwards, at the best score among them. ``notes`` go into the trace
    of each result. Sorted by score, then document, then position.
    """
    total = 1.0 if fusion == "maximum" else fsum(ranked.weight for ranked in lists)
    shares = [
        shares_of([(each.span.id, each.score) for each in ranked.found], ranked.weight / total, fusion, constant)
        for ranked in lists
    ]
    combine = maximum_fusion if fusion == "maximum" else _sums
    parts = _parts(lists, shares, only_best=fusion == "maximum")
    results: dict[str, list[Found]] = {}
    for ranked in lists:
        for found in ranked.found:
            results.setdefault(found.span.id, []).append(found)
    return unite(_fused(results[id_], score, fusion, parts[id_], notes) for id_, score in combine(shares))


def shares_of(
    ranking: Sequence[tuple[K, float]], weight: float, fusion: Fusion, constant: float = 60
) -> list[tuple[K, float]]:
    """What one list gives to each of its keys: the fusion of it alone, its weight taken as it is."""
    if fusion == "reciprocal rank":
        return reciprocal_rank_fusion([ranking], weights=[weight], normalize_weights=False, constant=constant)
    if fusion == "maximum":
        return maximum_fusion([ranking], weights=[weight])
    scaled = min_max(ranking) if fusion == "relative score" else three_sigma(ranking)
    return [(key, score * weight) for key, score in scaled]


def shares_beside(
    ranking: Sequence[tuple[K, float]],
    shares: Sequence[tuple[K, float]],
    others: Sequence[tuple[K, float]],
    weight: float,
    fusion: Fusion,
    constant: float = 60,
) -> list[tuple[K, float]]:
    """What others get by their scores beside a list and its shares, which they do not change: as much as one of the list
    would with such a score, at least 0. Where the list is empty, they are one themselves.
    """
    if not ranking:
        return shares_of(others, weight, fusion, constant)
    if fusion == "maximum":
        return [(key, score * weight) for key, score in others]
    scores = [score for _, score in ranking]
    if fusion == "reciprocal rank":
        ahead = ((key, sum(each > score for each in scores)) for key, score in others)
        return [(key, weight / (constant + 1 + rank)) for key, rank in ahead]
    (high, most), (low, least) = (scores[0], shares[0][1]), (scores[-1], shares[-1][1])
    if high == low:
        return [(key, most if score >= high else 0.0) for key, score in others]
    slope = (most - least) / (high - low)
    return [(key, max(0.0, least + slope * (score - low))) for key, score in others]


def _sums(shares: Sequence[_Shares]) -> _Shares:
    return sum_fusion(shares, normalize_weights=False)


def _parts(lists: Sequence[Ranked], shares: Sequence[_Shares], *, only_best: bool) -> dict[str, list[Part]]:
    """For each id, what each list that has it gave: all of it, or nothing but the largest, the first of equal ones."""
    parts: dict[str, list[Part]] = {}
    for ranked, given in zip(lists, shares, strict=True):
        share = dict(given)
        first: dict[str, Found] = {}
        for found in ranked.found:
            first.setdefault(found.span.id, found)
        for rank, (id_, found) in enumerate(first.items(), start=1):
            parts.setdefault(id_, []).append(Part(ranked.source, rank, found.score, share[id_]))
    if only_best:
        for id_, given_to in parts.items():
            best = max(range(len(given_to)), key=lambda number: given_to[number].share)
            parts[id_] = [part if number == best else replace(part, share=0.0) for number, part in enumerate(given_to)]
    return parts


def _fused(same: Sequence[Found], score: float, fusion: Fusion, parts: Sequence[Part], notes: Sequence[str]) -> Found:
    """The same run as several lists have it; what one of them knows of it is known."""
    span = same[0].span
    trace = sum((found.trace for found in same), Trace())
    step = Trace(fused=(Fused(span.first, span.last, fusion, tuple(parts), score),), notes=tuple(notes))
    words = next((found.words for found in same if found.words is not None), None)
    leaf = next((found.leaf for found in same if found.leaf is not None), None)
    return replace(same[0], score=score, trace=trace + step, words=words, leaf=leaf)
