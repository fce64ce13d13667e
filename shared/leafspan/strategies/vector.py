"""Plain vector search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.requests import Asking, Embed, Search
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
        import numpy as np

        texts = [text for query in queries for text in self._to_embed(query)]
        embedded: Any = iter((yield Embed(tuple(texts))) if texts else ())
        vectors = [
            np.mean([next(embedded) for _ in self._to_embed(query)], axis=0) if query.vector is None else query.vector
            for query in queries
        ]
        count = reach.candidates if self.k is None else self.k
        results: list[list[Found]] = yield Search(np.asarray(vectors, dtype=np.float32), count, reach.where)
        if self.min_score is None:
            return results
        return [[found for found in row if found.score >= self.min_score] for row in results]

    def _to_embed(self, query: Query) -> list[str]:
        """The texts whose mean vector stands for the query; none where it brings its vector along."""
        if query.vector is not None:
            return []
        return [self.instruction + text for text in query.embedding_texts or (query.text or "",)]
