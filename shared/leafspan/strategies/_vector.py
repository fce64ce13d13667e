"""Plain vector search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from leafspan.checks import check_flag, check_number, check_text, keep_whole
from leafspan.strategies._queries import query_vectors, search, those_that_reach
from leafspan.strategies._requests import Load, LoadedVectorSearch, RetrievalContext, StrategyFlow, VectorSearch
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, LeafId, Query, scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector(Strategy):
    """The leaves whose vectors are nearest to the query's. A score is a cosine similarity, in [-1, 1].

    Args:
        k: Most leaves to find, >= 1. Default: as many as are asked for.
        instruction: Text before each query when it is embedded, for embedders that want one, such as ``"query: "``.
            Default: none.
        min_score: Lowest similarity of a result, in [-1, 1]. Without ``k`` or a budget of the call, all that reach it are
            returned. Default: any.
        summaries: Whether to search the summaries of the index's trees as well, as if they were leaves. Default: False.

    Raises:
        InvalidArgument: if an option is out of its range.

    Ties are ordered by document id, then position.
    """

    k: int | None = None
    instruction: str = ""
    min_score: float | None = None
    summaries: bool = False

    def __post_init__(self) -> None:
        keep_whole(self, "k", 1, optional=True)
        check_text("instruction", self.instruction)
        check_number("min_score", self.min_score, at_least=-1, at_most=1, optional=True)
        check_flag("summaries", self.summaries)

    @property
    def finds_spans(self) -> bool:
        return self.summaries

    @property
    def query_instruction(self) -> str:
        return self.instruction

    @property
    def returns_all(self) -> bool:
        """True with ``k`` or ``min_score``."""
        return self.k is not None or self.min_score is not None

    def with_summaries(self) -> Vector:
        return replace(self, summaries=True)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """One search for all queries."""
        if self.summaries and context.words is not None:
            context = context.for_base  # summaries longer than the budget are skipped, so load all
        vectors = yield from query_vectors(queries, self.instruction)
        count = context.candidates if self.k is None else self.k
        everything = context.k is None and context.words is None  # results that reach the lowest score
        if self.summaries:
            request = VectorSearch(vectors, count, context.where, complete=everything)
            hits, _ = yield from search(request, None, summaries=True)
            rows = [row[: count if context.k is None else min(count, context.k)] for row in hits]
            loaded: dict[LeafId, Candidate] = yield Load(tuple(hit.leaf for row in rows for hit in row))
            results = [
                [scored(loaded[leaf], score, "vector", rank) for rank, (leaf, score) in enumerate(row, start=1)]
                for row in rows
            ]
        else:
            results = yield LoadedVectorSearch(vectors, count, context.where, context.k, complete=everything)
        return (yield from those_that_reach(self.min_score, queries, results, attrgetter("score")))
