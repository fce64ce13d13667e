"""Fuses lists of candidates from several retrievers or phrasings into one list."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import fsum
from operator import attrgetter
from typing import Literal, TypeAlias, TypeVar

from leafspan.checks import check_choice
from leafspan.spans import one_of, overlapping
from leafspan.strategies.scoring import maximum_fusion, min_max, reciprocal_rank_fusion, sum_fusion, three_sigma
from leafspan.trace import EMPTY_TRACE, Contribution, Fused, Trace
from leafspan.values import Candidate, Passage, id_of_text

Fusion: TypeAlias = Literal["rrf", "relative_score", "distribution_based", "maximum"]
FUSIONS: tuple[Fusion, ...] = ("rrf", "relative_score", "distribution_based", "maximum")
"""Ways to fuse scores; leafspan.strategies.scoring has a function for each."""

_OTHER_NAMES: dict[str, Fusion] = {
    "reciprocal_rerank": "rrf",  # LlamaIndex
    "dist_based_score": "distribution_based",
    "simple": "maximum",
    "reciprocal_rank_fusion": "rrf",  # Haystack
    "distribution_based_rank_fusion": "distribution_based",
    "concatenate": "maximum",
}

K = TypeVar("K", bound=Hashable)
_Shares: TypeAlias = list[tuple[K, float]]


def to_fusion(name: object, choices: Sequence[Fusion] = FUSIONS) -> Fusion:
    """The fusion with this name; names and enums of LlamaIndex (``"reciprocal_rerank"``) and Haystack work, too.

    Raises:
        InvalidArgument: if no fusion has this name.
    """
    plain = name.value if isinstance(name, Enum) else name
    found = _OTHER_NAMES.get(plain, plain) if isinstance(plain, str) else plain
    check_choice("fusion", found, choices)
    return found  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The results of ``source``, best first, with the ``weight``, > 0, of that source."""

    source: str
    found: Sequence[Candidate]
    weight: float = 1.0


def fuse(
    lists: Sequence[Ranked], *, fusion: Fusion, rank_constant: float = 60, notes: Sequence[str] = ()
) -> list[Candidate]:
    """One list of all passages, each once, with what each list contributed to its score.

    Spans that overlap are one passage. It has been found by each list that has one of these spans, at the first of them. So
    scores are the same as if each list had the whole passage there. Candidates of other sources are the same passage if
    they have the same id there, or, without ids, the same text. The list is sorted by score, then document, then position.

    Args:
        lists: The lists.
        fusion: How their scores become one.
        rank_constant: See ``reciprocal_rank_fusion``.
        notes: Remarks for the trace of each candidate.

    Weights are normalised, except for ``"maximum"``, which multiplies scores by them.
    """
    lists = _recognised_by_text(lists)
    total = 1.0 if fusion == "maximum" else fsum(ranked.weight for ranked in lists)
    same: dict[str, list[Candidate]] = {}
    for ranked in lists:
        for found in ranked.found:
            same.setdefault(found.span.id, []).append(found)
    passages = overlapping(map(_once, same.values()))
    passage_of = {each.span.id: number for number, group in enumerate(passages) for each in group}
    firsts: list[dict[int, Candidate]] = [{} for _ in lists]
    for ranked, first in zip(lists, firsts, strict=True):
        for found in ranked.found:
            first.setdefault(passage_of[found.span.id], found)
    shares = [
        shares_of([(key, found.score) for key, found in first.items()], ranked.weight / total, fusion, rank_constant)
        for ranked, first in zip(lists, firsts, strict=True)
    ]
    combine = maximum_fusion if fusion == "maximum" else _sums
    contributions = _contributions(lists, firsts, shares, total, only_best=fusion == "maximum")
    fused = (_fused(passages[key], score, fusion, contributions[key], notes) for key, score in combine(shares))
    return sorted(fused, key=lambda each: each.order)


def shares_of(
    ranking: Sequence[tuple[K, float]], weight: float, fusion: Fusion, rank_constant: float = 60
) -> list[tuple[K, float]]:
    """What one list adds to the score of each of its keys; ``weight`` is not normalised."""
    if fusion == "rrf":
        return reciprocal_rank_fusion([ranking], weights=[weight], normalize_weights=False, rank_constant=rank_constant)
    if fusion == "maximum":
        return maximum_fusion([ranking], weights=[weight])
    scaled = min_max(ranking) if fusion == "relative_score" else three_sigma(ranking)
    return [(key, score * weight) for key, score in scaled]


def shares_beside(
    ranking: Sequence[tuple[K, float]],
    shares: Sequence[tuple[K, float]],
    others: Sequence[tuple[K, float]],
    weight: float,
    fusion: Fusion,
    rank_constant: float = 60,
) -> list[tuple[K, float]]:
    """What ``others`` would get if they were in the list, without changing the list's own shares.

    Each of the others gets the share that a key of the list with the same score would get, and at least 0. If the list is
    empty, the others form a list of their own.
    """
    if not ranking:
        return shares_of(others, weight, fusion, rank_constant)
    if fusion == "maximum":
        return [(key, score * weight) for key, score in others]
    scores = [score for _, score in ranking]
    if fusion == "rrf":
        ahead = ((key, sum(each > score for each in scores)) for key, score in others)
        return [(key, weight / (rank_constant + 1 + rank)) for key, rank in ahead]
    (high, most), (low, least) = (scores[0], shares[0][1]), (scores[-1], shares[-1][1])
    if high == low:
        return [(key, most if score >= high else 0.0) for key, score in others]
    slope = (most - least) / (high - low)
    return [(key, max(0.0, least + slope * (score - low))) for key, score in others]


def _recognised_by_text(lists: Sequence[Ranked]) -> Sequence[Ranked]:
    """The lists, where a passage of another source without an id becomes the passage with an id and the same text."""
    named: dict[str, Candidate] = {}
    for ranked in lists:
        for found in ranked.found:
            if found.outside is not None and not is_nameless(found.outside):
                named.setdefault(found.outside.text, found)

    def recognised(found: Candidate) -> Candidate:
        if found.outside is None or not is_nameless(found.outside):
            return found
        same = named.get(found.outside.text, found)
        return replace(same, score=found.score, trace=found.trace)

    return [replace(ranked, found=[recognised(found) for found in ranked.found]) for ranked in lists] if named else lists


def is_nameless(passage: Passage) -> bool:
    """Whether a passage of another source has no id there."""
    return passage.id == id_of_text(passage.text)


def _sums(shares: Sequence[_Shares[int]]) -> _Shares[int]:
    return sum_fusion(shares, normalize_weights=False)


def _contributions(
    lists: Sequence[Ranked],
    firsts: Sequence[Mapping[int, Candidate]],
    shares: Sequence[_Shares[int]],
    total: float,
    *,
    only_best: bool,
) -> dict[int, list[Contribution]]:
    """For each passage, what each list with that passage contributed; with ``only_best``, the first of the largest.

    ``firsts`` has the first span of each passage in each list. ``total`` is the sum of all weights, or 1.
    """
    found: dict[int, list[Contribution]] = {}
    for ranked, first, given in zip(lists, firsts, shares, strict=True):
        share, weight = dict(given), ranked.weight / total
        for rank, (key, candidate) in enumerate(first.items(), start=1):
            found.setdefault(key, []).append(Contribution(ranked.source, rank, candidate.score, share[key], weight))
    return {key: only_the_best(all_of_it) for key, all_of_it in found.items()} if only_best else found


def only_the_best(contributions: Sequence[Contribution]) -> list[Contribution]:
    """The contributions to a maximum: the first of the largest keeps its share, the others get 0."""
    best = max(contributions, key=attrgetter("share"), default=None)
    return [each if each is best else replace(each, share=0.0) for each in contributions]


def _once(same: Sequence[Candidate]) -> Candidate:
    """One candidate for the same span in several lists, with what any of the lists knows about the span."""
    trace = sum((found.trace for found in same), EMPTY_TRACE)
    words = next((found.words for found in same if found.words is not None), None)
    leaf = next((found.leaf for found in same if found.leaf is not None), None)
    return replace(same[0], trace=trace, words=words, leaf=leaf)


def _fused(
    spans: Sequence[Candidate], score: float, fusion: Fusion, contributions: Sequence[Contribution], notes: Sequence[str]
) -> Candidate:
    whole = one_of(spans)
    step = Fused(whole.span.first, whole.span.last, fusion, tuple(contributions), score)
    return replace(whole, score=score, trace=whole.trace + Trace(fused=(step,), notes=tuple(notes)))
