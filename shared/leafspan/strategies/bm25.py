"""Search by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leafspan.errors import InvalidArgument
from leafspan.lexical import BM25Settings
from leafspan.requests import Asking, Load, Match
from leafspan.strategies.searching import searching
from leafspan.strategies.strategy import Reach, check_choice, flag, is_number, whole
from leafspan.values import Found, Query, scored


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25:
    """The leaves that have words of the query, with their BM25 scores; those without any are not found.

    Words are counted in a leaf's text, its title and its headings. ``k``: at most so many leaves; by default as many as are
    asked for. ``settings``: k1, b and variant (``BM25Settings``); by default those of the index. ``scale``: scores are
    shares of the most that a leaf could score for the query, in [0, 1] (below 0 counts as 0). ``engine``: ``"postings"``,
    or the library ``"rank-bm25"`` for its Okapi, with the same scores. ``min_score``: leaves of a lower score, scaled where
    that is asked for, are left out. ``summaries``: search those of the index's trees, too, whose words are counted apart.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), section 3.

    Raises:
        InvalidArgument: if an option is out of its range; at retrieval, if the query is a vector only.
    """

    k: int | None = None
    settings: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False

    def __post_init__(self) -> None:
        if self.k is not None:
            whole("k", self.k, 1)
        if self.settings is not None and not isinstance(self.settings, BM25Settings):
            raise InvalidArgument(f"settings must be BM25Settings, got {self.settings!r}")
        check_choice("engine", self.engine, ("postings", "rank-bm25"))
        flag("scale", self.scale)
        flag("summaries", self.summaries)
        if self.min_score is not None and not is_number(self.min_score):
            raise InvalidArgument(f"min_score must be a number, got {self.min_score!r}")

    @property
    def finds_spans(self) -> bool:
        """Whether what it finds may be no single leaves."""
        return self.summaries

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy: one pass over the postings for all queries, and one fetch."""
        count = reach.results if self.k is None else self.k
        match = Match(words_of("BM25", queries), count, reach.where, self.settings, self.engine)
        _, matched = yield from searching(None, match, summaries=self.summaries)
        rows = [
            [(rank, hit, self._score(hit.score, row.ideal)) for rank, hit in enumerate(row.hits[:count], start=1)]
            for row in matched
        ]
        if self.min_score is not None:
            rows = [[found for found in row if found[2] >= self.min_score] for row in rows]
        loaded: dict[str, Found] = yield Load(tuple(hit.id for row in rows for _, hit, _ in row))
        return [[scored(loaded[hit.id], score, "bm25", rank) for rank, hit, score in row] for row in rows]

    def _score(self, score: float, ideal: float) -> float:
        if not self.scale:
            return score
        return min(1.0, max(0.0, score / ideal)) if ideal > 0 else 0.0


def words_of(name: str, queries: Sequence[Query]) -> tuple[str, ...]:
    """The texts of queries.

    Raises:
        InvalidArgument: if one has none.
    """
    texts = tuple(query.text for query in queries if query.text and query.text.strip())
    if len(texts) < len(queries):
        raise InvalidArgument(f"{name} needs the query as text, got a vector only")
    return texts
