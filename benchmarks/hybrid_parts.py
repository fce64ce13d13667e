"""``Hybrid`` with other evidence, which is no option of it, and the weights that it computes before it returns results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from leafspan import Hybrid, Index, Query, Strategy
from leafspan.strategies import Candidate, RetrievalContext, StrategyFlow, _hybrid
from leafspan.strategies._hybrid_pool import EVIDENCE, Evidence, Pool

LEAVES_ALONE = EVIDENCE._replace(parent=0.0, section=0.0, document=0.0, soft_matches=0.0)
"""The evidence without larger nodes and soft matches."""


@contextmanager
def evidence(most: Evidence) -> Iterator[None]:
    """``Hybrid`` weighs by this evidence within the block.

    Args:
        most: The most evidence of each part, such as ``EVIDENCE._replace(soft_matches=0.0)``.
    """
    before = _hybrid.EVIDENCE
    _hybrid.EVIDENCE = most
    try:
        yield
    finally:
        _hybrid.EVIDENCE = before


@dataclass(frozen=True, slots=True)
class HybridWith(Strategy):
    """``Hybrid`` with other evidence. Two such strategies must not run at the same time.

    Args:
        most: The most evidence of each part.
        hybrid: The other options.
    """

    most: Evidence
    hybrid: Hybrid

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy."""
        with evidence(self.most):
            return (yield from self.hybrid.retrieve(queries, context))


def pools_of(index: Index, texts: Sequence[str]) -> list[Pool]:
    """The weights and probabilities that ``Hybrid`` computes for each question."""
    pools: list[Pool] = []

    class Kept(Pool):
        """A pool that is kept."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            pools.append(self)

    _hybrid.Pool = Kept
    try:
        index.retrieve_many(texts, Hybrid(), k=1)
    finally:
        _hybrid.Pool = Pool
    assert len(pools) == len(texts)
    return pools
