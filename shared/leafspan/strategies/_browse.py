"""Passages by metadata alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leafspan.checks import keep_whole
from leafspan.strategies._requests import ListLeaves, Load, RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, Hit, LeafId, Query, scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Browse(Strategy):
    """The leaves of the documents that match the filter of the call. No query is needed, and all scores are 1.

    All of them are returned, unless ``k``, ``candidates`` or ``budget`` says otherwise.

    Args:
        offset: Number of leaves to skip, >= 0: ``Browse(offset=40)`` with ``k=20`` is the third page of 20. Default: 0.

    Raises:
        InvalidArgument: if ``offset`` is negative.

    Leaves are ordered by document id, then position.
    """

    returns_all = True
    needs_query = False
    offset: int = 0

    def __post_init__(self) -> None:
        keep_whole(self, "offset", 0)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        hits: list[Hit] = yield ListLeaves(self.offset, context.results, context.where)
        loaded: dict[LeafId, Candidate] = yield Load(tuple(hit.leaf for hit in hits))
        ranks = range(self.offset + 1, self.offset + 1 + len(hits))
        candidates = [scored(loaded[hit.leaf], hit.score, "filter", rank) for rank, hit in zip(ranks, hits, strict=True)]
        return [list(candidates) for _ in queries]
