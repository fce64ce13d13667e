"""Why a passage was returned: the hits in it, what was added to them, and what they were merged into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TracedHit:
    """The leaf ``ordinal`` was found, with ``score``, by ``source`` (``vector``, or the name of a base retriever)."""

    ordinal: int
    score: float
    source: str = "vector"
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
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

    ``neighbour``: what the better neighbour's score added. ``score`` is the sum of it all.
    """

    first: int
    last: int
    method: str
    parts: tuple[Part, ...]
    score: float
    neighbour: float = 0.0


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The score of the leaf ``ordinal`` became a ``probability``, that it holds what was asked for.

    ``trusted`` is False where the index's embedder is another than the one that this was measured with.
    """

    ordinal: int
    probability: float
    trusted: bool


@dataclass(frozen=True, slots=True)
class Filled:
    """The leaves ``first`` to ``last`` were not found, but lie between two that were; ``score`` is those two's mean."""

    first: int
    last: int
    score: float


@dataclass(frozen=True, slots=True)
class Merge:
    """``present`` of the ``children`` of a node at ``level`` (1: the parents of leaves) were there; it took their place."""

    level: int
    first: int
    last: int
    present: int
    children: int
    score: float

    @property
    def ratio(self) -> float:
        """Share of its children that were there, in (0, 1]."""
        return self.present / self.children


@dataclass(frozen=True, slots=True)
class Trace:
    """How a passage came about. ``hits``: the leaves in it that were found. ``notes``: what did not go as planned."""

    hits: tuple[TracedHit, ...] = ()
    fused: tuple[Fused, ...] = ()
    calibrated: tuple[Calibrated, ...] = ()
    filled: tuple[Filled, ...] = ()
    merges: tuple[Merge, ...] = ()
    window: tuple[int, int] | None = None
    parent_level: int | None = None
    notes: tuple[str, ...] = ()

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
        )

    def explain(self) -> list[str]:
        """One sentence for each step, in the order in which they happened."""
        lines = [f"{hit.source} found leaf {hit.ordinal} ({_rank(hit.rank)}score {hit.score:.3f})" for hit in self.hits]
        lines += [_fusion(fused) for fused in self.fused]
        lines += [
            f"the score of leaf {each.ordinal} stands for a probability of {each.probability:.2f}"
            + ("" if each.trusted else ", not calibrated for this embedder")
            for each in self.calibrated
        ]
        lines += [
            f"{_leaves(gap.first, gap.last)} filled the gap between two hits (score {gap.score:.3f})" for gap in self.filled
        ]
        lines += [
            f"{merge.present} of {merge.children} children ({merge.ratio:.0%}) merged into their parent at level "
            f"{merge.level}: {_leaves(merge.first, merge.last)} (score {merge.score:.3f})"
            for merge in self.merges
        ]
        if self.parent_level is not None:
            lines.append(f"widened to the parent at level {self.parent_level}")
        if self.window is not None:
            lines.append(f"widened to the neighbours: {self.window[0]} before and {self.window[1]} after")
        return [*lines, *self.notes]


def _once(steps: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(steps)) if len(steps) > 1 else steps


def _leaves(first: int, last: int) -> str:
    return f"leaf {first}" if first == last else f"leaves {first} to {last}"


def _rank(rank: int | None) -> str:
    return "" if rank is None else f"rank {rank}, "


def _fusion(fused: Fused) -> str:
    shares = [f"{part.share:.3f} from {part.source} (rank {part.rank})" for part in fused.parts]
    if fused.neighbour:
        shares.append(f"{fused.neighbour:.3f} from a neighbour")
    return f"{_leaves(fused.first, fused.last)}: {fused.method} gave {fused.score:.3f} = {' + '.join(shares)}"
