"""Why a passage was returned: the hits in it, what was added to them, and what they were merged into."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TracedHit:
    """The leaf ``ordinal`` was found, with ``score``, by ``source`` (``vector``, or the name of a base retriever)."""

    ordinal: int
    score: float
    source: str = "vector"


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
    """How a passage came about. ``hits``: the leaves in it that were found."""

    hits: tuple[TracedHit, ...] = ()
    filled: tuple[Filled, ...] = ()
    merges: tuple[Merge, ...] = ()
    window: tuple[int, int] | None = None
    parent_level: int | None = None

    def __add__(self, other: Trace) -> Trace:
        """The trace of a passage made of two."""
        return Trace(
            self.hits + other.hits,
            self.filled + other.filled,
            self.merges + other.merges,
            self.window or other.window,
            self.parent_level or other.parent_level,
        )

    def explain(self) -> list[str]:
        """One sentence for each step, in the order in which they happened."""
        lines = [f"{hit.source} found leaf {hit.ordinal} (score {hit.score:.3f})" for hit in self.hits]
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
        return lines


def _leaves(first: int, last: int) -> str:
    return f"leaf {first}" if first == last else f"leaves {first} to {last}"
