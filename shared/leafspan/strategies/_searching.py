"""Searches by vectors and texts: vectors of questions, and hits that reach a lowest score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from leafspan.errors import InvalidArgument
from leafspan.strategies._requests import Embed, LexicalMatches, LexicalSearch, NoteWhyEmpty, StrategyFlow, VectorSearch
from leafspan.values import Hit, Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def query_vectors(queries: Sequence[Query], instruction: str) -> StrategyFlow[NDArray[np.float32]]:
    """A row for each query: its own vector if it has one, else its text's vector, or the mean of several texts' vectors.

    Raises:
        InvalidArgument: if a vector's length differs from the texts' vectors, or, without texts, from the first vector.
    """
    import numpy as np

    texts = tuple(instruction + text for query in queries for text in _to_embed(query))
    embedded: Sequence[Any] = (yield Embed(texts)) if texts else ()
    rows = iter(embedded)
    vectors = [_mean([next(rows) for _ in _to_embed(query)]) if query.vector is None else query.vector for query in queries]
    lengths = [len(vector) for vector in (*embedded, *vectors)]
    for length in lengths:
        if length != lengths[0]:
            raise InvalidArgument(f"a query's vector must have {lengths[0]} dimensions, got {length}")
    return np.asarray(vectors, dtype=np.float32)


def _mean(vectors: Sequence[Any]) -> Any:
    import numpy as np

    return vectors[0] if len(vectors) == 1 else np.mean(vectors, axis=0)


def _to_embed(query: Query) -> tuple[str, ...]:
    """The texts whose mean vector is the query's vector; empty if the query has a vector."""
    if query.vector is not None:
        return ()
    return query.embedding_texts or (query.text or "",)


def search(
    vectors: VectorSearch | None, words: LexicalSearch | None, *, summaries: bool
) -> StrategyFlow[tuple[list[list[Hit]], list[LexicalMatches]]]:
    """The answers to a vector search and a lexical search, which run at the same time.

    With ``summaries`` both also search the summaries of the trees. Each list then holds up to that many leaves and
    summaries each, together best first; ``ideal`` is the leaves' ideal.
    """
    requests = tuple(request for request in (vectors, words) if request is not None)
    more = tuple(replace(request, summaries=True) for request in requests) if summaries else ()
    answers: Iterator[Any] = iter((yield (*requests, *more)))
    hits: list[list[Hit]] = next(answers) if vectors is not None else []
    matches: list[LexicalMatches] = next(answers) if words is not None else []
    if summaries and vectors is not None:
        hits = [_merged(row, others) for row, others in zip(hits, next(answers), strict=True)]
    if summaries and words is not None:
        matches = [
            replace(row, hits=_merged(row.hits, others.hits)) for row, others in zip(matches, next(answers), strict=True)
        ]
    return hits, matches


def _merged(hits: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    return sorted([*hits, *others], key=lambda hit: hit.order)


T = TypeVar("T")
_DOCUMENT = attrgetter("span.document_id")


def those_that_reach(
    min_score: float | None,
    queries: Sequence[Query],
    rows: Sequence[Sequence[T]],
    score_of: Callable[[T], float],
    document_of: Callable[[T], str] = _DOCUMENT,
) -> StrategyFlow[list[list[T]]]:
    """Each query's results without those below ``min_score``."""
    if min_score is None:
        return [list(row) for row in rows]
    kept = [[each for each in row if score_of(each) >= min_score] for row in rows]
    for query, before, after in zip(queries, rows, kept, strict=True):
        if before and not after:
            yield from note_too_low(query, min_score, max(map(score_of, before)), map(document_of, before))
    return kept


def note_too_low(query: Query, min_score: float, best: float, documents: Iterable[str]) -> StrategyFlow[None]:
    """Note in ``why_empty`` that all results are below ``min_score``. ``documents`` has their documents, best first."""
    reason = f"no result reaches the strategy's min_score={min_score:g}, the best has {best:.3g}"
    yield NoteWhyEmpty(query, reason, tuple(dict.fromkeys(documents)))
