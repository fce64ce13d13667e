"""Plain vector search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leafspan.errors import InvalidArgument
from leafspan.requests import Asking, Load, Nearest, Search
from leafspan.strategies.query_vectors import query_vectors
from leafspan.strategies.searching import searching
from leafspan.strategies.strategy import Reach, flag, is_number, whole
from leafspan.values import Found, Query, scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """The leaves whose vectors are nearest to the query's, with their cosine similarity as score, in [-1, 1].

    ``k``: at most so many leaves; by default as many as are asked for. ``instruction``: put before each query's text, for
    embedders that want one (``"query: "``). ``min_score``: leaves of a lower similarity are left out. ``summaries``: search
    those of the index's trees, too, as if they were leaves.

    Raises:
        InvalidArgument: if ``k`` is not positive, or ``min_score`` not in [-1, 1].
    """

    k: int | None = None
    instruction: str = ""
    min_score: float | None = None
    summaries: bool = False

    def __post_init__(self) -> None:
        if self.k is not None:
            whole("k", self.k, 1)
        if not isinstance(self.instruction, str):
            raise InvalidArgument(f"instruction must be a string, got {self.instruction!r}")
        if self.min_score is not None and not (is_number(self.min_score) and -1 <= self.min_score <= 1):
            raise InvalidArgument(f"min_score must be in [-1, 1], got {self.min_score!r}")
        flag("summaries", self.summaries)

    @property
    def finds_spans(self) -> bool:
        """Whether what it finds may be no single leaves."""
        return self.summaries

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy: one search for all queries."""
        vectors = yield from query_vectors(queries, self.instruction)
        count = reach.candidates if self.k is None else self.k
        if self.summaries:
            hits, _ = yield from searching(Nearest(vectors, count, reach.where), None, summaries=True)
            rows = [row[: count if reach.k is None else min(count, reach.k)] for row in hits]
            loaded: dict[str, Found] = yield Load(tuple(hit.id for row in rows for hit in row))
            results = [[scored(loaded[hit.id], hit.score, "vector") for hit in row] for row in rows]
        else:
            results = yield Search(vectors, count, reach.where)
        if self.min_score is None:
            return results
        return [[found for found in row if found.score >= self.min_score] for row in results]
