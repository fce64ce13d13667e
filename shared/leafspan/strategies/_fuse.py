"""Fuses lists of candidates from several retrievers or phrasings into one list, without the retrievers that failed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import fsum
from operator import attrgetter
from typing import Literal, TypeAlias

from leafspan.checks import check_choice, check_number
from leafspan.errors import InvalidArgument
from leafspan.spans import one_of, overlapping
from leafspan.strategies._requests import StrategyResults
from leafspan.strategies.scoring import min_max, three_sigma
from leafspan.trace import EMPTY_TRACE, Contribution, Fused, Trace
from leafspan.values import Candidate, Passage, id_of_text

Fusion: TypeAlias = Literal["rrf", "relative_score", "distribution_based", "maximum"]
FUSIONS: tuple[Fusion, ...] = ("rrf", "relative_score", "distribution_based", "maximum")
"""Ways to fuse scores: ``shares_of`` says what each adds."""

_OTHER_NAMES: dict[str, Fusion] = {
    "reciprocal_rerank": "rrf",  # LlamaIndex
    "dist_based_score": "distribution_based",
    "simple": "maximum",
    "reciprocal_rank_fusion": "rrf",  # Haystack
    "distribution_based_rank_fusion": "distribution_based",
    "concatenate": "maximum",
}

_RANK_CONSTANT = 60.0


def to_fusion(name: object, choices: Sequence[Fusion] = FUSIONS) -> Fusion:
    """The fusion with this name; names and enums of LlamaIndex (``"reciprocal_rerank"``) and Haystack work, too."""
    plain = name.value if isinstance(name, Enum) else name
    fusion = _OTHER_NAMES.get(plain, plain) if isinstance(plain, str) else plain
    check_choice("fusion", fusion, choices)
    return fusion  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The results of ``source``, best first, with the ``weight``, > 0, of that source."""

    source: str
    candidates: Sequence[Candidate]
    weight: float = 1.0


def fuse(
    lists: Sequence[Ranked], *, fusion: Fusion, rank_constant: float = _RANK_CONSTANT, notes: Sequence[str] = ()
) -> list[Candidate]:
    """One list of all passages, each once, with what each list contributed to its score.

    Spans that overlap are one passage. Each list with one of these spans has found the passage, and adds the largest share
    of its spans, once. Candidates of other sources are the same passage if they have the same id there, or, without ids,
    the same text. The list is sorted by score, then document, then position.

    Args:
        lists: The lists.
        fusion: How their scores become one.
        rank_constant: A passage at rank r, from 1, gets weight / (``rank_constant`` + r) by ``"rrf"``.
        notes: Remarks for the trace of each candidate.

    Weights are normalised, except for ``"maximum"``, which multiplies scores by them.
    """
    lists = _recognised_by_text(lists)
    total = 1.0 if fusion == "maximum" else fsum(ranked.weight for ranked in lists)
    same: dict[str, list[Candidate]] = {}
    for ranked in lists:
        for candidate in ranked.candidates:
            same.setdefault(candidate.span.id, []).append(candidate)
    passages = overlapping(map(_once, same.values()))
    passage_of = {each.span.id: number for number, group in enumerate(passages) for each in group}
    contributions: dict[int, list[Contribution]] = {}
    for ranked in lists:
        of_list = _contributions(ranked, passage_of, ranked.weight / total, fusion, rank_constant)
        for number, contribution in of_list.items():
            contributions.setdefault(number, []).append(contribution)
    fused = (_fused(passages[number], fusion, parts, notes) for number, parts in contributions.items())
    return sorted(fused, key=lambda each: each.order)


def shares_of(scores: Sequence[float], weight: float, fusion: Fusion, rank_constant: float = _RANK_CONSTANT) -> list[float]:
    """What one list, best first, adds to the score of each of its passages; ``weight`` is not normalised."""
    if fusion == "rrf":
        return [weight / (rank_constant + rank) for rank in range(1, len(scores) + 1)]
    for score in scores:
        check_number("the score of a result", score)
    scale = {"relative_score": min_max, "distribution_based": three_sigma}.get(fusion, list)
    return [score * weight for score in scale([float(score) for score in scores])]


def _recognised_by_text(lists: Sequence[Ranked]) -> Sequence[Ranked]:
    """The lists, where a passage of another source without an id becomes the passage with an id and the same text."""
    named: dict[str, Candidate] = {}
    for ranked in lists:
        for candidate in ranked.candidates:
            if candidate.outside is not None and not is_nameless(candidate.outside):
                named.setdefault(candidate.outside.text, candidate)

    def recognised(candidate: Candidate) -> Candidate:
        if candidate.outside is None or not is_nameless(candidate.outside):
            return candidate
        same = named.get(candidate.outside.text, candidate)
        return replace(same, score=candidate.score, trace=candidate.trace)

    return (
        [replace(ranked, candidates=[recognised(candidate) for candidate in ranked.candidates]) for ranked in lists]
        if named
        else lists
    )


def is_nameless(passage: Passage) -> bool:
    """Whether a passage of another source has no id there."""
    return passage.id == id_of_text(passage.text)


def _contributions(
    ranked: Ranked, passage_of: Mapping[str, int], weight: float, fusion: Fusion, rank_constant: float
) -> dict[int, Contribution]:
    """What a list contributes to each of its passages: the first of the largest contributions to spans of the passage."""
    scores: dict[str, float] = {}
    for candidate in ranked.candidates:
        scores.setdefault(candidate.span.id, candidate.score)
    share = dict(zip(scores, shares_of(list(scores.values()), weight, fusion, rank_constant), strict=True))
    best: dict[int, Contribution] = {}
    for rank, (id_, score) in enumerate(scores.items(), start=1):
        so_far = best.get(passage_of[id_])
        if so_far is None or share[id_] > so_far.share:
            best[passage_of[id_]] = Contribution(ranked.source, rank, score, share[id_], weight)
    return best


def _once(same: Sequence[Candidate]) -> Candidate:
    """One candidate for the same span in several lists, with what any of the lists knows about the span."""
    trace = sum((candidate.trace for candidate in same), EMPTY_TRACE)
    words = next((candidate.words for candidate in same if candidate.words is not None), None)
    leaf = next((candidate.leaf for candidate in same if candidate.leaf is not None), None)
    return replace(same[0], trace=trace, words=words, leaf=leaf)


def _fused(
    spans: Sequence[Candidate], fusion: Fusion, contributions: Sequence[Contribution], notes: Sequence[str]
) -> Candidate:
    whole = one_of(spans)
    if fusion == "maximum":
        best = max(contributions, key=attrgetter("share"))
        contributions = [each if each is best else replace(each, share=0.0) for each in contributions]
    score = fsum(each.share for each in contributions)
    step = Fused(whole.span.first, whole.span.last, fusion, tuple(contributions), score)
    return replace(whole, score=score, trace=whole.trace + Trace(fused=(step,), notes=tuple(notes)))


OnFailure: TypeAlias = Literal["raise", "skip"]
ON_FAILURE: tuple[OnFailure, ...] = ("raise", "skip")
"""What happens when a strategy fails: leafspan raises its error, or skips the strategy."""


def split_failures(
    names: Sequence[str], answers: Sequence[StrategyResults], *, on_failure: OnFailure, owner: str
) -> tuple[list[list[list[Candidate]] | None], dict[str, Exception]]:
    """The results of each strategy, None if it failed, and the errors by strategy name."""
    failed = {name: each for name, each in zip(names, answers, strict=True) if isinstance(each, Exception)}
    if failed and (on_failure == "raise" or any(isinstance(error, InvalidArgument) for error in failed.values())):
        raise noted(failed, owner)
    return [None if isinstance(each, Exception) else each for each in answers], failed


def noted(failed: Mapping[str, Exception], owner: str) -> Exception:
    """The first failure, an InvalidArgument before others, with a note for each strategy that failed."""
    raised = min(failed.values(), key=lambda error: not isinstance(error, InvalidArgument))
    for name, error in failed.items():
        raised.add_note(f"{name} of the {owner} failed" + ("" if error is raised else f" too: {in_words(error)}"))
    return raised


def left_out(failed: Mapping[str, Exception]) -> list[str]:
    """A remark for the trace on each strategy that failed."""
    return [f"{name} was left out: {in_words(error)}" for name, error in failed.items()]


def in_words(error: Exception) -> str:
    """The text of an error in a trace."""
    return f"{type(error).__name__}: {error}"


def went_on_without(what: str, error: Exception) -> str:
    """Warn that the strategy goes on without a function that failed, and return the remark for the trace."""
    failed = f"{what} failed: {in_words(error)}"
    warnings.warn(f"{failed}; the retrieval goes on without it", RuntimeWarning, stacklevel=2)
    return failed
