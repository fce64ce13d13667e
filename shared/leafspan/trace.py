"""Why a passage was returned: the hits in it, what was added to them, and what they were merged into.

A step's ``query`` is the phrasing of the question that it was done for, None where there is only one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TracedHit:
    """The leaf ``ordinal`` was found, with ``score``, by ``source`` (``vector``, or the name of a base retriever)."""

    ordinal: int
    score: float
    source: str = "vector"
    rank: int | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one list gave to a fused score: its result's ``rank`` (from 1) and ``score`` there, and its ``share`` of it.

    Where the results are told apart by rank alone, ``score`` is still the list's own.
    """

    source: str
    rank: int
    score: float
    share: float


@dataclass(frozen=True, slots=True)
class Fused:
    """The leaves ``first`` to ``last`` were found in one or more lists, whose scores became one by ``method``.

    ``neighbour_bonus`` is what the score of the better neighbour added, ``summary_bonus`` what that of the best summary
    above the leaf did. ``score`` is the sum of all of it.
    """

    first: int
    last: int
    method: str
    contributions: tuple[Contribution, ...]
    score: float
    neighbour_bonus: float = 0.0
    summary_bonus: float = 0.0
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The score of the leaf ``ordinal`` became a ``probability``, that it holds what was asked for.

    ``trusted`` is False where the index's embedder is another than the one that this was measured with.
    """

    ordinal: int
    probability: float
    trusted: bool
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Filled:
    """The leaves ``first`` to ``last`` were not found, but lie between two that were; ``score`` is those two's mean."""

    first: int
    last: int
    score: float
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """``present`` of the ``children`` of a node at ``level`` (1: the parents of leaves) were there; it took their place."""

    level: int
    first: int
    last: int
    present: int
    children: int
    score: float
    query: str | None = None

    @property
    def ratio(self) -> float:
        """Share of its children that were there, in (0, 1]."""
        return self.present / self.children


Step = TypeVar("Step", TracedHit, Fused, Calibrated, Filled, Merge)


@dataclass(frozen=True, slots=True)
class Trace:
    """How a passage came about. ``hits``: the leaves in it that were found. ``notes``: what did not go as planned.

    ``layer``: 0, or that of a summary in its tree, whose number there is then meant where a leaf's is spoken of.
    """

    hits: tuple[TracedHit, ...] = ()
    fused: tuple[Fused, ...] = ()
    calibrated: tuple[Calibrated, ...] = ()
    filled: tuple[Filled, ...] = ()
    merges: tuple[Merge, ...] = ()
    window: tuple[int, int] | None = None
    parent_level: int | None = None
    notes: tuple[str, ...] = ()
    layer: int = 0

    def __add__(self, other: Trace) -> Trace:
        """The trace of a passage made of two; a step that both went through is there once."""
        return Trace(
            _once(self.hits + other.hits),
            _once(self.fused + other.fused),
            _once(self.calibrated + other.calibrated),
            _once(self.filled + other.filled),
            _once(self.merges + other.merges),
            self.window or other.window,
            self.parent_level or other.parent_level,
            _once(self.notes + other.notes),
            self.layer or other.layer,
        )

    def done_for(self, query: str) -> Trace:
        """The same, of which each step was done for this phrasing of the question, unless for another one already."""
        return replace(
            self,
            hits=_done_for(query, self.hits),
            fused=_done_for(query, self.fused),
            calibrated=_done_for(query, self.calibrated),
            filled=_done_for(query, self.filled),
            merges=_done_for(query, self.merges),
        )

    def explain(self) -> list[str]:
        """One sentence for each step, in the order in which they happened."""
        kind = f"layer {self.layer}, summary" if self.layer else "leaf"
        lines = [
            f"{hit.source} found {kind} {hit.ordinal}{_query(hit)} ({_rank(hit.rank)}score {hit.score:.3f})"
            for hit in self.hits
        ]
        lines += [_fusion(fused, kind) for fused in self.fused]
        lines += [
            f"the score of {kind} {each.ordinal}{_query(each)} stands for a probability of {each.probability:.2f}"
            + ("" if each.trusted else ", not calibrated for this embedder")
            for each in self.calibrated
        ]
        lines += [
            f"{_leaves(gap.first, gap.last)} filled the gap between two hits{_query(gap)} (score {gap.score:.3f})"
            for gap in self.filled
        ]
        lines += [
            f"{merge.present} of {merge.children} children ({merge.ratio:.0%}) merged into their parent at level "
            f"{merge.level}{_query(merge)}: {_leaves(merge.first, merge.last)} (score {merge.score:.3f})"
            for merge in self.merges
        ]
        if self.parent_level is not None:
            lines.append(f"widened to the parent at level {self.parent_level}")
        if self.window is not None:
            lines.append(f"widened to the neighbours: {self.window[0]} before and {self.window[1]} after")
        return [*lines, *self.notes]


def _once(steps: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(steps)) if len(steps) > 1 else steps


def _done_for(query: str, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(replace(step, query=query) if step.query is None else step for step in steps)


def _leaves(first: int, last: int, kind: str = "leaf") -> str:
    return f"{kind} {first}" if first == last else f"leaves {first} to {last}"


def _rank(rank: int | None) -> str:
    return "" if rank is None else f"rank {rank}, "


def _query(step: TracedHit | Fused | Calibrated | Filled | Merge) -> str:
    return "" if step.query is None else f" for {step.query}"


def _fusion(fused: Fused, kind: str) -> str:
    shares = [f"{part.share:.3f} from {part.source} (rank {part.rank})" for part in fused.contributions]
    if fused.neighbour_bonus:
        shares.append(f"{fused.neighbour_bonus:.3f} from a neighbour")
    if fused.summary_bonus:
        shares.append(f"{fused.summary_bonus:.3f} from a summary above")
    leaves = f"{_leaves(fused.first, fused.last, kind)}{_query(fused)}"
    return f"{leaves}: {fused.method} gave {fused.score:.3f} = {' + '.join(shares)}"
