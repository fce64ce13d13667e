"""Plain vector search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leafspan.errors import InvalidArgument
from leafspan.requests import Asking, Search
from leafspan.strategies.query_vectors import query_vectors
from leafspan.strategies.strategy import Reach, whole
from leafspan.values import Found, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """The leaves whose vectors are nearest to the query's, with their cosine similarity as score, in [-1, 1].

    ``k``: at most so many leaves; by default as many as are asked for. ``instruction``: put before each query's text, for
    embedders that want one (``"query: "``). ``min_score``: leaves of a lower similarity are left out.

    Raises:
        InvalidArgument: if ``k`` is not positive, or ``min_score`` not in [-1, 1].
    """

    k: int | None = None
    instruction: str = ""
    min_score: float | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            whole("k", self.k, 1)
        if not isinstance(self.instruction, str):
            raise InvalidArgument(f"instruction must be a string, got {self.instruction!r}")
        if self.min_score is not None and not (isinstance(self.min_score, int | float) and -1 <= self.min_score <= 1):
            raise InvalidArgument(f"min_score must be in [-1, 1], got {self.min_score!r}")

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy: one search for all queries."""
        vectors = yield from query_vectors(queries, self.instruction)
        count = reach.candidates if self.k is None else self.k
        results: list[list[Found]] = yield Search(vectors, count, reach.where)
        if self.min_score is None:
            return results
        return [[found for found in row if found.score >= self.min_score] for row in results]
