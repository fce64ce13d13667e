"""Search by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal

from leafspan.checks import check_choice, check_flag, check_number, keep_whole, shown
from leafspan.config import register
from leafspan.errors import InvalidArgument
from leafspan.lexical import BM25Settings
from leafspan.strategies._queries import query_texts, search, those_that_reach, with_spelling
from leafspan.strategies._requests import LexicalSearch, Load, NoteWhyEmpty, RetrievalContext, StrategyFlow
from leafspan.strategies._strategy import Strategy
from leafspan.values import Candidate, LeafId, Query, scored

_ONLY_STOP_WORDS = "the question has only stop words, which a search by words ignores"

register(BM25Settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class BM25(Strategy):
    """The leaves that have words of the query, with their BM25 scores. Other leaves are not found.

    Words are counted in a leaf's text, its title and its headings.

    Args:
        k: Most leaves to find, >= 1. Default: as many as are asked for.
        bm25: k1, b and the variant, as ``BM25Settings``. Default: the index's.
        scale: Whether a score is the share, in [0, 1], of the highest score that any leaf could have for the query.
            A score below 0 becomes 0. Default: False.
        engine: ``"postings"``, or ``"rank-bm25"`` for the library of that name, which has the same scores for its variant
            okapi. Default: ``"postings"``.
        min_score: Lowest score of a result, after scaling. Without ``k`` or a budget of the call, all that reach it are
            returned. Default: any.
        summaries: Whether to search the summaries of the index's trees as well, whose words are counted separately
            from the leaves' words. Default: False.
        spelling: Whether to read a misspelt word, which no document has, as a similar one that documents have.
            Default: True.

    Raises:
        InvalidArgument: if an option is out of its range; at retrieval, if a query is a vector only.

    Ties are ordered by document id, then position. Source: Robertson and Zaragoza, The Probabilistic Relevance
    Framework (2009), section 3.
    """

    k: int | None = None
    bm25: BM25Settings | None = None
    scale: bool = False
    engine: Literal["postings", "rank-bm25"] = "postings"
    min_score: float | None = None
    summaries: bool = False
    spelling: bool = True

    def __post_init__(self) -> None:
        keep_whole(self, "k", 1, optional=True)
        check_bm25(self.bm25)
        check_choice("engine", self.engine, ("postings", "rank-bm25"))
        check_flag("scale", self.scale)
        check_flag("summaries", self.summaries)
        check_flag("spelling", self.spelling)
        check_number("min_score", self.min_score, optional=True)

    @property
    def finds_spans(self) -> bool:
        return self.summaries

    @property
    def returns_all(self) -> bool:
        """True with ``k`` or ``min_score``."""
        return self.k is not None or self.min_score is not None

    def with_summaries(self) -> BM25:
        return replace(self, summaries=True)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """One pass over the postings for all queries, and one fetch."""
        if self.summaries and context.words is not None:
            context = context.for_base  # summaries longer than the budget are skipped, so load all
        count = context.results if self.k is None else self.k
        texts = query_texts("BM25", queries)
        request = LexicalSearch(texts, count, context.where, self.bm25, self.engine, spelling=self.spelling)
        _, matches = yield from search(None, request, summaries=self.summaries)
        if any(row.respelt for row in matches):
            return (yield from with_spelling(self, queries, matches, context))
        for query, row in zip(queries, matches, strict=True):
            if not row.has_words:
                yield NoteWhyEmpty(query, _ONLY_STOP_WORDS)
        rows = [
            [(rank, hit, self._score(hit.score, row.ideal)) for rank, hit in enumerate(row.hits[:count], start=1)]
            for row in matches
        ]
        rows = yield from those_that_reach(
            self.min_score, queries, rows, itemgetter(2), lambda each: each[1].leaf.document_id
        )
        loaded: dict[LeafId, Candidate] = yield Load(tuple(hit.leaf for row in rows for _, hit, _ in row))
        return [[scored(loaded[hit.leaf], score, "bm25", rank) for rank, hit, score in row] for row in rows]

    def _score(self, score: float, ideal: float) -> float:
        if not self.scale:
            return score
        return min(1.0, max(0.0, score / ideal)) if ideal > 0 else 0.0


def check_bm25(bm25: object) -> None:
    """Check that an option is ``BM25Settings`` or None."""
    if bm25 is not None and not isinstance(bm25, BM25Settings):
        raise InvalidArgument(f"bm25 must be BM25Settings, got {shown(bm25)}")
